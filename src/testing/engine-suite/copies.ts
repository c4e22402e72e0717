import assert from "node:assert/strict";
import { agent, tool } from "#agents";
import { ChatMessage, type EphemeralSource, type PromptSection } from "#kernel";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { anyInput } from "./any-input.ts";
import { onRuntime, type EngineCase } from "./harness.ts";
import { desk } from "./label-desk.ts";

const reviewTool = tool({
  name: "review",
  description: "Has a copy of the agent look at the conversation",
  input: anyInput,
  risk: "safe",
  run: async (ctx) => {
    const { status, output } = await ctx.join(
      await ctx.spawnChild("check it", { history: true, tools: ["read_web"] }),
    );
    return `${status}: ${JSON.stringify(output)}`;
  },
});

/** Section 8.8: copies of an agent. */
export const copyCases: readonly EngineCase[] = [
  {
    name: "8.8 a copy with history is sent the bytes that its parent was sent up to the turn, then its task",
    async run(harness) {
      let reads = 0;
      const page: EphemeralSource = { name: "page", getState: () => "Open page." };
      const notes: PromptSection = {
        name: "notes",
        place: "memory",
        keep: "turn",
        read: () => `Notes, read ${(reads += 1)} times.`,
      };
      const model = scriptedModel([
        say("one"),
        call("review", {}),
        call("mail", {}),
        say("fine"),
        say("two"),
      ]);
      const { tools, mailed } = desk();
      const writer = agent({
        name: "writer",
        model,
        tools: [...tools, reviewTool],
        permissions: "allow-all",
        instructions: "Be brief.",
        sections: [notes],
        ephemeral: [page],
      });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(writer, { user: "ada" });
        await talk.invoke("first");
        const run = await talk.start("second");
        assert.equal((await run.result()).output, "two");
        await talk.waitForIdle();
        const texts = (await talk.messages()).items.map(ChatMessage.text).join(" ");
        assert.match(texts, /second/);
        assert.doesNotMatch(texts, /check it/);
        // The calls of the copy are charged to the tree.
        assert.equal((await run.result()).usage.input, 4 * 10);
      });
      const [, parent, copy, after, last] = model.requests;
      assert.deepEqual(copy?.messages.map(ChatMessage.text).slice(1), ["first", "one", "check it"]);
      const start = JSON.stringify(copy?.messages.slice(0, 3)).slice(0, -1);
      assert.equal(JSON.stringify(parent?.messages).slice(0, start.length), start);
      assert.match(start, /Notes, read 2 times\..*Session ID/);
      assert.deepEqual(copy?.tools, parent?.tools);
      assert.equal(reads, 2);
      // Only the parent is shown the page, and a tool that is not on the list gives an error result.
      assert.ok(parent?.messages.some((message) => ChatMessage.text(message) === "Open page."));
      assert.match(JSON.stringify(after?.messages.at(-1)), /mail is not among the tools this run may call/);
      assert.deepEqual(mailed, []);
      assert.match(JSON.stringify(last?.messages), /completed: .*fine/);
    },
  },
  {
    name: "8.8 a review is made by a copy after every n-th turn, sees the whole turn, and leaves the conversation unchanged",
    async run(harness) {
      const model = scriptedModel([
        say("one"),
        say("two"),
        call("read_web", {}),
        call("mail", {}),
        say("noted"),
        say("three"),
        say("four"),
        say("nothing new"),
        say("five"),
      ]);
      const { tools, read, mailed } = desk();
      const writer = agent({
        name: "writer",
        model,
        tools,
        permissions: "allow-all",
        instructions: "Be brief.",
        sections: [],
        review: { every: 2, task: "Keep notes.", tools: ["read_web"] },
      });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(writer, { user: "ada" });
        const answers: unknown[] = [];
        for (const text of ["1", "2", "3", "4", "5"]) answers.push((await talk.invoke(text)).output);
        assert.deepEqual(answers, ["one", "two", "three", "four", "five"]);
        const texts = (await talk.messages()).items.map(ChatMessage.text);
        assert.deepEqual(texts.toReversed(), [
          "1",
          "one",
          "2",
          "two",
          "3",
          "three",
          "4",
          "four",
          "5",
          "five",
        ]);
      });
      const { requests } = model;
      const prompts = requests.map(({ messages }) => messages.map(ChatMessage.text).slice(1).join(" "));
      assert.equal(prompts[2], "1 one 2 two Keep notes.");
      assert.equal(prompts[7], "1 one 2 two 3 three 4 four Keep notes.");
      assert.equal(prompts[8], "1 one 2 two 3 three 4 four 5");
      // The request of the turn is the beginning of the review's request.
      for (const [turn, review] of [
        [1, 2],
        [6, 7],
      ] as const) {
        const start = JSON.stringify(requests[turn]?.messages).slice(0, -1);
        assert.equal(JSON.stringify(requests[review]?.messages).slice(0, start.length), start);
        assert.deepEqual(requests[review]?.tools, requests[turn]?.tools);
      }
      assert.deepEqual(read, ["web"]);
      assert.deepEqual(mailed, []);
    },
  },
];
