import type { Page } from "playwright-core";
import { agent } from "reeve";
import { fail, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { ListenerStage } from "../listener/stage.ts";
import { ask, expectShown, reload, readChat, siteOf, visit } from "./visit.ts";

async function expectLast(page: Page, ...last: readonly string[]): Promise<void> {
  await expect.poll(async () => (await readChat(page)).slice(-last.length - 1)).toEqual([...last, "ready"]);
}

test("60 turns on Restate with a reload, an edited message, another answer, a compaction and a killed worker: the fact of the first one is known in the last", async () => {
  await using stage = await ListenerStage.open();
  const { provider, agents, engine, store } = stage;
  const page = await visit(await siteOf(agents, { engine, store }), "listener");
  await ask(page, "The pump was built in 1987.");
  await expectLast(page, "Answer 1");
  for (let turn = 2; turn < 60; turn++) {
    const word = turn === 50 ? "slow" : `word ${turn}`;
    await ask(page, word);
    if (turn === 50) {
      await provider.asked;
      await stage.replaceWorker();
    }
    await expectLast(page, word, `Answer ${turn <= 30 ? turn : turn <= 40 ? turn + 1 : turn + 2}`);
    if (turn === 20) await reload(page);
    if (turn === 30) {
      await page.getByRole("button", { name: "Edit" }).last().click();
      await ask(page, "another word");
      await expectLast(page, "Answer 29", "another word", "Answer 31");
    }
    if (turn === 40) {
      await page.getByRole("button", { name: "Answer again" }).click();
      await expectLast(page, "word 40", "Answer 42");
    }
  }
  await ask(page, "When was it built?");
  await expectLast(page, "When was it built?", "In 1987");
  expect(provider.summaries).toBeGreaterThan(0);
  expect(provider.shown).toBeLessThan(60);
  const all = await readChat(page);
  expect(all).toHaveLength(121);
  await reload(page);
  // A page of the history has 50 messages.
  await expectShown(page, all.slice(-51));
});

test("an answer that failed is tried again on the page, and leaves no trace", async () => {
  const model = scriptedModel([say("one"), fail(new TypeError("it fails")), say("two")]);
  const page = await visit(await siteOf([agent({ name: "echo", model })]), "echo");
  await ask(page, "first");
  await expectLast(page, "first", "one");
  await ask(page, "second");
  await expect.poll(async () => (await readChat(page)).at(-1)).toContain("it fails");
  await page.getByRole("button", { name: "Answer again" }).click();
  const all = ["first", "one", "second", "two", "ready"];
  await expectShown(page, all);
  await reload(page);
  await expectShown(page, all);
});
