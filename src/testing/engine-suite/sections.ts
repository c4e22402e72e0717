import assert from "node:assert/strict";
import { agent } from "#agents";
import { ChatMessage, type Labels, type PromptSection } from "#kernel";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel, type ScriptedModel } from "../scripted-model.ts";
import { onRuntime, type EngineCase } from "./harness.ts";
import { desk, refusal } from "./label-desk.ts";

/** The system message of each prompt, without the footer. */
const systems = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) =>
    first?.role === "system" ? (ChatMessage.text(first).split("\n\nCurrent date: ")[0] ?? "") : "",
  );

/** Reads a secret and sends a mail with a section in the prompt. Returns the result of the mail. */
async function mailWith(
  harness: Parameters<EngineCase["run"]>[0],
  rest: Partial<PromptSection>,
): Promise<{ readonly result: string; readonly mailed: number; readonly labels?: Labels | undefined }> {
  const { tools, mailed } = desk();
  const model = scriptedModel([call("read_secret", {}), call("mail", {}), say("done")]);
  const section: PromptSection = { name: "notes", place: "memory", read: () => "A note.", ...rest };
  const writer = agent({ name: "writer", model, tools, permissions: "allow-all", sections: [section] });
  return onRuntime(harness, { agents: [writer] }, async (runtime) => {
    const { output, labels } = await (await runtime.start(writer, "go")).result();
    assert.equal(output, "done");
    const block = model.requests[2]?.messages.findLast(({ role }) => role === "tool")?.content[0];
    const [result] = block?.type === "tool-result" ? block.content : [];
    return { result: result?.type === "text" ? result.text : "", mailed: mailed.length, labels };
  });
}

/** Section 8.6: the sections of a system prompt. */
export const sectionCases: readonly EngineCase[] = [
  {
    name: "8.6 sections are shown in the order of their places, and all calls of a turn have the same system message",
    async run(harness) {
      let reads = 0;
      const { tools } = desk();
      const model = scriptedModel([call("read_web", {}), say("one"), say("two")]);
      const sections: readonly PromptSection[] = [
        { name: "user", place: "user", keep: "turn", read: () => `User ${(reads += 1)}.` },
        { name: "docs", place: "docs", read: () => "Docs." },
        { name: "memory", place: "memory", read: () => "Memory." },
      ];
      const writer = agent({ name: "writer", model, tools, instructions: "Identity.", sections });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(writer);
        assert.equal((await talk.invoke("first")).output, "one");
        assert.equal((await talk.invoke("second")).output, "two");
      });
      const all = systems(model);
      const start = "Identity.\n\nDocs.\n\nMemory.\n\n";
      assert.deepEqual(all, [`${start}User 1.`, `${start}User 1.`, `${start}User 2.`]);
    },
  },
  {
    name: "8.6 a section that fails, hangs or is too long is left out, and its run goes on",
    async run(harness) {
      const model = scriptedModel([say("done")]);
      const broken: readonly PromptSection[] = [
        { name: "fails", place: "docs", read: () => Promise.reject(new Error("no file")) },
        { name: "hangs", place: "docs", read: () => new Promise(() => {}), timeoutMs: 20 },
        { name: "long", place: "docs", read: () => "x".repeat(100_001) },
        { name: "empty", place: "docs", read: () => null },
      ];
      const good: PromptSection = { name: "good", place: "docs", read: () => "Docs." };
      const writer = agent({ name: "writer", model, instructions: "Identity.", sections: [...broken, good] });
      const log: string[] = [];
      const options = {
        agents: [writer],
        log: ({ diagnostic }: { readonly diagnostic: { readonly source: string } }) =>
          void log.push(diagnostic.source),
      };
      await onRuntime(harness, options, async (runtime) => {
        assert.equal((await (await runtime.start(writer, "go")).result()).output, "done");
      });
      assert.deepEqual(systems(model), ["Identity.\n\nDocs."]);
      assert.deepEqual(log.toSorted(), ["section fails", "section hangs", "section long"]);
    },
  },
  {
    name: "8.6 a section adds its stated labels and its text's labels to its run",
    async run(harness) {
      const untrusted = { untrusted: true, private: false };
      const shown = await mailWith(harness, { read: () => ({ text: "A note.", labels: untrusted }) });
      assert.match(shown.result, refusal);
      const [source] = shown.labels?.sources ?? [];
      assert.deepEqual([source?.kind, source?.name, source?.untrusted], ["input", "notes", true]);
      assert.equal(shown.mailed, 0);
      assert.match((await mailWith(harness, { trust: "untrusted" })).result, refusal);
      const trusted = await mailWith(harness, {});
      assert.deepEqual([trusted.result, trusted.mailed], ["sent", 1]);
    },
  },
];
