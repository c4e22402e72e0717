import assert from "node:assert/strict";
import { agent } from "#agents";
import { ChatMessage, type EphemeralSource } from "#kernel";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel, type ScriptedModel } from "../scripted-model.ts";
import { eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf } from "./history.ts";
import { desk, refusal } from "./label-desk.ts";

const canary = "heron";

/** A page that is open from the first call on, and is another one at each. */
function openPage(rest: Partial<EphemeralSource> = {}): EphemeralSource {
  let reads = 0;
  return { name: "browser", getState: () => `Open page: ${canary} ${(reads += 1)}`, ...rest };
}

/** The texts of each prompt. */
const prompts = ({ requests }: ScriptedModel): readonly (readonly string[])[] =>
  requests.map(({ messages }) => messages.map(ChatMessage.text));

/** Reads a secret and sends a mail while a page is open. */
async function mailBeside(
  harness: Parameters<EngineCase["run"]>[0],
  rest: Partial<EphemeralSource>,
): Promise<{ readonly result: string; readonly mailed: number }> {
  const { tools, mailed } = desk();
  const model = scriptedModel([call("read_secret", {}), call("mail", {}), say("done")]);
  const writer = agent({
    name: "writer",
    model,
    tools,
    permissions: "allow-all",
    ephemeral: [openPage(rest)],
  });
  return onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
    const { output } = await (await runtime.start(writer, "go")).result();
    assert.equal(output, "done");
    const block = model.requests[2]?.messages.findLast(({ role }) => role === "tool")?.content[0];
    const [result] = block?.type === "tool-result" ? block.content : [];
    return { result: result?.type === "text" ? result.text : "", mailed: mailed.length };
  });
}

/** Section 8.6: state that a model is shown for one call only. */
export const ephemeralCases: readonly EngineCase[] = [
  {
    name: "8.6 ephemeral state is shown last in every call, for that call only, and is kept nowhere",
    async run(harness) {
      const closed: string[] = [];
      const close: EphemeralSource["close"] = ({ scope }) => void closed.push(scope.runId);
      const { tools } = desk();
      const model = scriptedModel([call("read_web", {}), say("one"), say("two")]);
      const writer = agent({ name: "writer", model, tools, ephemeral: [openPage({ close })] });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(writer);
        const first = await talk.start("first");
        assert.equal((await first.result()).output, "one");
        await talk.waitForIdle();
        assert.equal((await talk.invoke("second")).output, "two");
        const all = prompts(model);
        assert.deepEqual(
          all.map((texts) => texts.map((text) => text.includes(canary)).lastIndexOf(false)),
          all.map((texts) => texts.length - 2),
        );
        assert.deepEqual(
          all.map((texts) => texts.length),
          [2, 4, 6],
        );
        const lines: string[] = [];
        for await (const line of talk.export()) lines.push(line);
        const kept = JSON.stringify([lines, await historyOf(first), await runtime.audit.read()]);
        assert.ok(kept.includes("first"));
        assert.ok(!kept.includes(canary));
        await eventually("what the runs had open is closed", () => closed.length >= 2);
        assert.ok(closed.includes(first.runId));
      });
    },
  },
  {
    name: "8.6 a source that fails, hangs or shows too much is left out, and its run continues",
    async run(harness) {
      const model = scriptedModel([say("done")]);
      const broken: readonly EphemeralSource[] = [
        { name: "fails", getState: () => Promise.reject(new Error("no page")) },
        { name: "hangs", getState: () => new Promise(() => {}), timeoutMs: 20 },
        { name: "long", getState: () => "x".repeat(60_000) },
        { name: "other", getState: () => [ChatMessage.assistant("I said so.")] },
        { name: "closed", getState: () => null },
      ];
      const writer = agent({ name: "writer", model, ephemeral: [...broken, openPage()] });
      const log: string[] = [];
      const options = {
        agents: [writer],
        log: ({ diagnostic }: { readonly diagnostic: { readonly source: string } }) =>
          void log.push(diagnostic.source),
      };
      await onRuntime(harness, options, async (runtime) => {
        assert.equal((await (await runtime.start(writer, "go")).result()).output, "done");
      });
      assert.deepEqual(prompts(model), [["go", `Open page: ${canary} 1`]]);
      const reported = broken.slice(0, 4).map(({ name }) => `ephemeral source ${name}`);
      assert.deepEqual(log.toSorted(), reported.toSorted());
    },
  },
  {
    name: "8.6 ephemeral state labels its run as untrusted, unless the source states other labels",
    async run(harness) {
      const untrusted = await mailBeside(harness, {});
      assert.match(untrusted.result, refusal);
      assert.equal(untrusted.mailed, 0);
      assert.deepEqual(await mailBeside(harness, { trust: "trusted" }), { result: "sent", mailed: 1 });
    },
  },
];
