import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agent, ChatMessage, createRuntime, extension, type Extension, type Runtime } from "reeve";
import { profile } from "reeve/profile";
import { call, say, scriptedModel, type ScriptedModel } from "reeve/testing";
import { afterEach, expect, test } from "vitest";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "reeve-code-")));
  folders.push(folder);
  write(folder, files);
  return folder;
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** An extension that adds a word to the system prompt. */
const extensionAdding = (word: string): string =>
  `export default { name: "${word}", on: { beforeAgentStart: (prompt) => prompt + " ${word}" } };\n`;

/** A guardrail that blocks every call. */
const blockingGuardrail = (reason: string): string =>
  `export default { name: "stern", beforeCall: () => ({ kind: "block", reason: "${reason}" }) };\n`;

const tools = [
  {
    name: "act",
    description: "Acts",
    risk: "safe" as const,
    input: {
      "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) => ({ value }) },
    },
    execute: async () => "acted",
  },
];

/** A runtime with one agent that has the profile. */
function runtimeOf(given: Extension, model: ScriptedModel, extensions: readonly Extension[] = []): Runtime {
  const ada = agent({ name: "ada", model, instructions: "Be", tools, profile: given, extensions });
  return createRuntime({ agents: [ada], log: () => undefined });
}

async function ask(runtime: Runtime): Promise<readonly string[]> {
  const [ada] = runtime.agents;
  if (!ada) throw new Error("no agent");
  const run = await runtime.start(ada, "go");
  await run.result();
  const errors: string[] = [];
  for await (const event of run.events())
    if (event.type === "extension.error") errors.push(`${event.extension}: ${event.error.message}`);
  return errors;
}

/** Returns the last word of each system prompt before the footer. */
const lastWordsOfPrompts = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) => (first ? (ChatMessage.text(first).split("\n").at(-1) ?? "") : ""));

test("extensions of a folder are loaded at start and on reload, and a reload counts from the next launch", async () => {
  const folder = folderOf({ "extensions/word.ts": extensionAdding("kind") });
  const model = scriptedModel([say("one"), say("two"), say("three")]);
  await using runtime = runtimeOf(profile(folder), model);
  expect(await ask(runtime)).toEqual([]);
  write(folder, {
    "extensions/word.ts": extensionAdding("brief"),
    "extensions/x.js": extensionAdding("clear"),
  });
  await ask(runtime);
  await runtime.reload();
  await ask(runtime);
  const ends = lastWordsOfPrompts(model).map((line) => line.replace(/^.*Session ID: \S+ /, ""));
  expect(ends).toEqual(["kind", "kind", "brief clear"]);
});

test("an extension that cannot be loaded is left out and reported; the others are loaded", async () => {
  const folder = folderOf({
    "extensions/broken.ts": "throw new Error('oops');\n",
    "extensions/empty.ts": "export const nothing = 1;\n",
    "extensions/word.ts": extensionAdding("kind"),
  });
  const model = scriptedModel([say("one")]);
  await using runtime = runtimeOf(profile(folder), model);
  expect(await ask(runtime)).toEqual([
    "extensions/broken.ts: skipped: oops",
    "extensions/empty.ts: skipped: it has no default export",
  ]);
  expect(lastWordsOfPrompts(model)[0]).toMatch(/ kind$/);
});

test("a guardrail of a file replaces one of an extension with the same name, and never one of the agent", async () => {
  const folder = folderOf({ "guardrails/stern.ts": blockingGuardrail("the file says so") });
  const other = extension({
    name: "other",
    guardrails: [{ name: "stern", beforeCall: () => ({ kind: "halt", reason: "the extension says so" }) }],
  });
  const model = scriptedModel([call("act", {}), say("done")]);
  await using runtime = runtimeOf(profile(folder), model, [other]);
  expect(await ask(runtime)).toEqual(["other: its guardrail stern is replaced by a file of that name"]);
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("not called: the file says so");
});

test("a guardrail that cannot be loaded keeps runs from starting, and a reload from changing anything", async () => {
  const folder = folderOf({ "guardrails/stern.ts": blockingGuardrail("no") });
  const model = scriptedModel([call("act", {}), say("done")]);
  await using runtime = runtimeOf(profile(folder), model);
  await runtime.reload();
  write(folder, { "guardrails/stern.ts": "export default 7;\n" });
  await expect(runtime.reload()).rejects.toThrow("guardrail file guardrails/stern.ts cannot be loaded");
  await ask(runtime);
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("not called: no");
  await using second = runtimeOf(profile(folder), scriptedModel([say("done")]));
  await expect(ask(second)).rejects.toThrow("must be a guardrail");
});

test("with pins, a changed file, a file without a pin and a missing file are refused", async () => {
  const text = extensionAdding("kind");
  const folder = folderOf({ "extensions/word.ts": text });
  const pinned = profile(folder, { code: { "extensions/word.ts": hashOf(text) } });
  const model = scriptedModel([say("one"), say("two")]);
  await using runtime = runtimeOf(pinned, model);
  await ask(runtime);
  expect(lastWordsOfPrompts(model)[0]).toMatch(/ kind$/);
  write(folder, { "extensions/word.ts": extensionAdding("swapped") });
  await expect(runtime.reload()).rejects.toThrow("file extensions/word.ts has changed");
  write(folder, { "extensions/word.ts": text, "extensions/new.ts": extensionAdding("new") });
  await expect(runtime.reload()).rejects.toThrow("files without a pin are not loaded: extensions/new.ts");
  rmSync(join(folder, "extensions"), { recursive: true });
  await expect(runtime.reload()).rejects.toThrow("pinned files are missing: extensions/word.ts");
  await ask(runtime);
  expect(lastWordsOfPrompts(model)[1]).toMatch(/ kind$/);
});

test("code of a folder is not loaded if the profile forbids it", async () => {
  const folder = folderOf({ "extensions/word.ts": extensionAdding("kind") });
  const model = scriptedModel([say("one")]);
  await using runtime = runtimeOf(profile(folder, { code: false }), model);
  await ask(runtime);
  expect(lastWordsOfPrompts(model)[0]).not.toMatch(/ kind$/);
});

test("a file that changes while it is loaded is not used, because its hash was that of another content", async () => {
  const rewriting = `import { appendFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
appendFileSync(fileURLToPath(new URL(import.meta.url)), "// changed");
${extensionAdding("kind")}`;
  const folder = folderOf({ "extensions/word.ts": rewriting });
  const model = scriptedModel([say("one")]);
  await using runtime = runtimeOf(profile(folder), model);
  expect(await ask(runtime)).toEqual(["extensions/word.ts: skipped: it changed while it was loaded"]);
  expect(lastWordsOfPrompts(model)[0]).not.toMatch(/kind/);
});
