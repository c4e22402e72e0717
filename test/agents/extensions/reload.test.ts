import { agent, extension, tool, type Extension } from "reeve";
import { type LoadedParts } from "#kernel";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const toolFor = (name: string, execute: () => Promise<string> | string) =>
  tool({ name, description: name, input: z.object({}), risk: "safe", execute });

/** A program whose extension loads what `loaded` returns, and whose tool `act` reloads it in the middle of a run. */
function reloadingProgram(loaded: (isLate: boolean) => LoadedParts) {
  let isLate = false;
  const lazy = extension({ name: "lazy", load: async () => loaded(isLate) });
  const act = toolFor("act", async () => {
    isLate = true;
    await kit.runtime.reload();
    return "acted";
  });
  const model = scriptedModel([call("act", {}), say("one"), say("two")]);
  const writer = agent({ name: "writer", model, tools: [act], extensions: [lazy] });
  const kit = testRuntime({ agents: [writer] });
  return { kit, writer, model };
}

/** An extension that notes each prompt. */
const notingExtension = (name: string, log: string[], rest: Partial<Extension> = {}): Extension =>
  extension({ ...rest, name, on: { context: () => void log.push(name) } });

test("a run calls the extensions of its launch, even when it is replayed after a reload", async () => {
  const log: string[] = [];
  const [early, late] = [notingExtension("early", log), notingExtension("late", log)];
  const { kit, writer } = reloadingProgram((isLate) => ({ extensions: isLate ? [early, late] : [early] }));
  await using _ = kit;
  expect((await kit.run(writer, "go")).output).toBe("one");
  expect(log).toEqual(["early", "early"]);
  expect((await kit.run(writer, "again")).output).toBe("two");
  expect(log).toEqual(["early", "early", "early", "late"]);
});

test("a reload leaves the tools of a live run unchanged, and the next run has the new tools", async () => {
  const added = extension({ name: "added", tools: [toolFor("look", () => "seen")] });
  const { kit, writer, model } = reloadingProgram((isLate) => (isLate ? { extensions: [added] } : {}));
  await using _ = kit;
  expect((await kit.run(writer, "go")).output).toBe("one");
  expect((await kit.run(writer, "again")).output).toBe("two");
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ["act"],
    ["act"],
    ["act", "look"],
  ]);
});

test("a failed load is reported to the caller of start, and the next start tries again", async () => {
  let tries = 0;
  const lazy = extension({
    name: "lazy",
    load: async () => {
      if ((tries += 1) === 1) throw new Error("the disk is away");
      return {};
    },
  });
  const writer = agent({ name: "writer", model: scriptedModel([say("done")]), extensions: [lazy] });
  await using kit = testRuntime({ agents: [writer] });
  await expect(kit.run(writer, "go")).rejects.toThrow("the disk is away");
  expect((await kit.run(writer, "go")).output).toBe("done");
});
