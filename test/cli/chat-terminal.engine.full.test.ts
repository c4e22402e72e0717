import { join } from "node:path";
import { createRuntime } from "reeve";
import { listen } from "reeve/server";
import { expect, test } from "vitest";
import { ListenerStage } from "../listener/stage.ts";
import { TerminalWindow } from "./terminal-window.ts";

const reeve = join(import.meta.dirname, "../../src/cli/main.ts");

const turns = 60;

test(`${turns} turns of \`reeve chat\` in a terminal that is closed and opened again, with a compaction and a killed worker: the fact of the first one is known in the last`, async () => {
  await using stage = await ListenerStage.open();
  const { provider, agents, engine, store } = stage;
  await using runtime = createRuntime({ agents, engine, store });
  await using server = await listen({ runtime, port: 0 });
  const words = ["chat", "listener", "--url", server.url, "--session", "pump"];
  const open = (): Promise<TerminalWindow> =>
    TerminalWindow.open([process.execPath, "--conditions=reeve-source", reeve, ...words]);
  const talk = async (window: TerminalWindow, turn: number, word = `word ${turn}`): Promise<void> => {
    await window.type(word);
    if (word === "slow") {
      await provider.asked;
      await stage.replaceWorker();
    }
    await window.expectLast(`> ${word}`, `Answer ${turn}`, ">");
  };
  await using first = await open();
  await talk(first, 1, "The pump was built in 1987.");
  for (let turn = 2; turn <= turns / 2; turn++) await talk(first, turn);
  await first.press("C-d");
  await first.waitForEnd();
  await using second = await open();
  await second.expectLast(`> word ${turns / 2}`, `Answer ${turns / 2}`, ">");
  for (let turn = turns / 2 + 1; turn < turns; turn++)
    await talk(second, turn, turn === (3 * turns) / 4 ? "slow" : undefined);
  await second.type("When was it built?");
  await second.expectLast("> When was it built?", "In 1987", ">");
  expect(provider.summaries).toBeGreaterThan(0);
  expect(provider.shown).toBeLessThan(turns);
});
