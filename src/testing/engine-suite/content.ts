import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import {
  ChatMessage,
  InvalidInputError,
  TooLargeError,
  type ContentBlock,
  type FileBlock,
  type InputFile,
  type Json,
  type Model,
} from "#kernel";
import { agent } from "#agents";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";

/** Returns a block as a model read it: a file by its type, size and hash. */
function describeBlock(block: ContentBlock): Json {
  if (block.type === "text") return block.text;
  if (block.type === "data") return block.data;
  if (block.type !== "file" || !("base64" in block.source)) return `unreadable ${block.type}`;
  return print(block.mediaType, Buffer.from(block.source.base64, "base64"), block.name);
}

const print = (mediaType: string, bytes: Uint8Array, name = ""): string =>
  `${mediaType} ${name} ${bytes.length} ${hash("sha256", bytes).slice(0, 16)}`;

const printOf = ({ mediaType, data, name }: InputFile): string =>
  print(mediaType, typeof data === "string" ? Buffer.from(data, "base64") : data, name);

/** A model that answers with a list of all user messages. */
const readingModel: Model = {
  id: "reader",
  contextWindow: 100_000,
  generate: async ({ messages }) => ({
    message: ChatMessage.assistant(
      JSON.stringify(
        messages.filter(({ role }) => role === "user").flatMap(({ content }) => content.map(describeBlock)),
      ),
    ),
    usage: { input: 100, output: 10 },
    finishReason: "stop",
  }),
};

const reader = agent({ name: "reader", model: readingModel });

const photo: InputFile = { mediaType: "image/png", data: randomBytes(5_000_000), name: "photo.png" };
const icon: InputFile = { mediaType: "image/png", data: randomBytes(500).toString("base64") };
const report: InputFile = { mediaType: "application/pdf", data: randomBytes(40_000), name: "report.pdf" };

const file = (bytes: number): InputFile => ({ mediaType: "image/png", data: new Uint8Array(bytes) });

/** Input is content: text, data and files. */
export const contentCases: readonly EngineCase[] = [
  {
    name: "text, data and files of a start reach the model as they were given",
    run: (harness) =>
      onRuntime(harness, { agents: [reader] }, async (runtime) => {
        const input = { text: "describe", data: { page: 3 }, files: [photo, icon, report, photo] };
        const budget = { maxTokens: 200_000 };
        const { status, output } = await (await runtime.start(reader, input, { budget })).result();
        const files = [photo, icon, report, photo].map(printOf);
        assert.deepEqual(
          [status, output],
          ["completed", JSON.stringify(["describe", { page: 3 }, ...files])],
        );
      }),
  },
  {
    name: "a start with the same id and the same content is the same tree; with other content it is a conflict",
    run: (harness) =>
      onRuntime(harness, { agents: [reader] }, async (runtime) => {
        const id = crypto.randomUUID();
        const input = { data: [1], files: [report] };
        const run = await runtime.start(reader, input, { id });
        assert.equal((await runtime.start(reader, input, { id })).runId, run.runId);
        const conflict = { code: "id-conflict" };
        await assert.rejects(runtime.start(reader, { ...input, data: [2] }, { id }), conflict);
        await assert.rejects(runtime.start(reader, { ...input, files: [photo] }, { id }), conflict);
        assert.equal((await run.result()).status, "completed");
      }),
  },
  {
    name: "content of steer and followUp reaches the model with its labels",
    run: async (harness) => {
      const lead = agentOf("lead", async (ctx, inbox) => {
        await ctx.waitFor("go");
        await inbox.next();
        await inbox.next();
        const said = [...inbox.takeSteering(), ...inbox.takeFollowUps()];
        const blocks = said.flatMap(({ files = [] }) => files);
        const { message } = await ctx.llm([{ role: "user", content: blocks }], { model: readingModel });
        const { untrusted, private: isPrivate } = ctx.labels;
        return [ChatMessage.text(message), said.map(({ data }) => data ?? null), untrusted, isPrivate];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "boot");
        await run.steer({ data: "first", files: [report] }, { labels: { untrusted: true } });
        await run.followUp({ text: "see", files: [report] }, { labels: { private: true } });
        await run.signal("go");
        const read = JSON.stringify([printOf(report), printOf(report)]);
        assert.deepEqual((await run.result()).output, [read, ["first", null], true, true]);
      });
    },
  },
  {
    name: "a run passes on the files of its message, and sends its own files, by ask, spawn and send",
    run: async (harness) => {
      const own: InputFile = {
        mediaType: "text/plain",
        data: new Uint8Array(30_000).fill(65),
        name: "own.txt",
      };
      const lead = agentOf("lead", async (ctx, inbox) => {
        const given = (await inbox.next())?.files ?? [];
        const input = { text: "see", files: [...given, own] };
        const asked = await ctx.askOrThrow(reader, input, { timeoutS: 60 });
        const spawned = await ctx.spawn(reader, input);
        const again = await ctx.ask(spawned, input, { timeoutS: 60 });
        await ctx.send(spawned, { data: "last", files: given });
        const { output } = await ctx.join(spawned);
        return [asked.text, again.kind === "replied" ? again.text : again.kind, output];
      });
      await onRuntime(harness, { agents: [lead, reader] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, { files: [photo] })).result();
        const told = ["see", printOf(photo), printOf(own)];
        assert.ok(Array.isArray(output));
        assert.deepEqual(output.slice(0, 2), [JSON.stringify(told), JSON.stringify(told)]);
      });
    },
  },
  {
    name: "content over a limit is refused at the start with the limit, and no tree begins",
    run: async (harness) => {
      const input = { maxFiles: 2, maxFileBytes: 1_000, maxTotalBytes: 1_500, mediaTypes: ["image/*"] };
      const pdf = { mediaType: "application/pdf", data: "AAAA" };
      const lead = agentOf("lead", async (ctx) => {
        const codes: Json[] = [];
        for (const files of [[file(1_001)], [pdf]])
          codes.push(await ctx.ask(reader, { files }, { timeoutS: 9 }).then(() => "asked", codeOf));
        return codes;
      });
      await onRuntime(harness, { agents: [reader, lead], input }, async (runtime) => {
        const id = crypto.randomUUID();
        const start = (files: readonly (InputFile | FileBlock)[]): Promise<unknown> =>
          runtime.start(reader, { text: "see", files }, { id });
        await assert.rejects(start([file(1), file(1), file(1)]), /it has 3 files: at most 2 are allowed/);
        await assert.rejects(start([file(1_001)]), /file 1 of the input has 1001 bytes: at most 1000/);
        await assert.rejects(start([file(800), file(800)]), TooLargeError);
        await assert.rejects(start([pdf]), /"application\/pdf": allowed are image\/\*/);
        await assert.rejects(start([{ mediaType: "image/png", data: "not base64" }]), InvalidInputError);
        await assert.rejects(runtime.start(reader, {}, { id }), /it is empty: give text, data or files/);
        await assert.rejects(runtime.run(id).status(), { code: "not-found" });
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, [
          "too-large",
          "invalid-input",
        ]);
      });
    },
  },
  {
    name: "a run of another tree cannot read the content of a tree",
    run: async (harness) => {
      let block: FileBlock | undefined;
      const lead = agentOf("lead", async (ctx, inbox) => {
        const message = await inbox.next();
        block ??= message?.files?.[0];
        const content = block ? [block] : [];
        return ctx.llm([{ role: "user", content }], { model: readingModel }).then(() => "read", codeOf);
      });
      await onRuntime(harness, { agents: [lead], eraseAfterS: 2 }, async (runtime) => {
        const run = await runtime.start(lead, { files: [report] }, { retention: "none" });
        assert.equal((await run.result()).output, "read");
        await eventually("it is erased", async () => (await run.result()).erased === true);
        assert.equal((await (await runtime.start(lead, "again")).result()).output, "not-found");
      });
    },
  },
];

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "foreign";
