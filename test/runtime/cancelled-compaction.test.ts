import type { ModelCall } from "#kernel";
import type { ModelRequest } from "reeve";
import { expect, test } from "vitest";
import { compactionsOf, entriesOf, isSummary, open, take, textOf } from "./talking-model.ts";

/** Calls `during` when the first summary is asked for. It never answers. */
function hangSummaries(model: Awaited<ReturnType<typeof open>>["model"], during: () => void): void {
  const generate = model.generate.bind(model);
  model.generate = async (request: ModelRequest, call?: ModelCall) => {
    if (!isSummary(request)) return generate(request);
    during();
    return new Promise((_resolve, reject) => {
      call?.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true });
    });
  };
}

test("8.5 a cancelled compaction changes nothing, and the conversation goes on", async () => {
  const talked = await open({}, { contextWindow: null });
  await using _ = talked.runtime;
  const { talk, model } = talked;
  await take(talked, 3);
  const before = await entriesOf(talked);
  const asked = Promise.withResolvers<void>();
  const generate = model.generate.bind(model);
  hangSummaries(model, asked.resolve);
  const run = await talk.startCompaction();
  await asked.promise;
  await run.cancel();
  expect((await run.result()).status).toBe("cancelled");
  await talk.waitForIdle();
  expect(await entriesOf(talked)).toEqual(before);
  model.generate = generate;
  await take(talked, 1, 4);
  const prompt = model.prompts.at(-1)?.messages.map(textOf) ?? [];
  expect(prompt).toHaveLength(7);
  expect(await talk.runCompaction()).not.toBeNull();
});

test("8.5 a turn that is cancelled during its compaction keeps its answer", async () => {
  const talked = await open();
  await using _ = talked.runtime;
  const { talk, model } = talked;
  const asked = Promise.withResolvers<void>();
  hangSummaries(model, asked.resolve);
  for (let number = 1; ; number++) {
    const run = await talk.start(`question ${number} ${"please ".repeat(20)}`);
    const ended = talk.waitForIdle().then(() => "idle");
    if ((await Promise.race([asked.promise.then(() => "asked"), ended])) === "idle") continue;
    await run.cancel();
    await talk.waitForIdle();
    const entries = await entriesOf(talked);
    expect(compactionsOf(entries)).toEqual([]);
    expect(entries.filter(({ type }) => type === "message")).toHaveLength(2 * number);
    break;
  }
});
