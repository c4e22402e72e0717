import { ContentBlock, RunId, SessionId, TreeId } from "reeve";
import { exportSession, getPromptWindow, importSession, type Session } from "reeve/store";
import { expect, test } from "vitest";
import { memoryStore } from "reeve/stores/memory";
import { assistantCalls, compaction, entry, id, idsOf, label, reply, results, talk, user } from "./talk.ts";

const writer = RunId.of(TreeId.of("books"), 1);

async function fileOf(session: Session): Promise<string> {
  let file = "";
  for await (const line of exportSession(session)) file += line;
  return file;
}

async function linesOf(session: Session): Promise<readonly string[]> {
  return (await fileOf(session)).trimEnd().split("\n").slice(1);
}

const parse = (text: string): object => JSON.parse(text);
/** Returns a line as it is after an import. */
const markUntrusted = (text: string): object => ({
  ...parse(text),
  labels: { untrusted: true, private: false, sources: fromAFile },
});
const fromAFile = [
  { kind: "file", name: "import", runId: null, stepId: null, untrusted: true, private: false },
];

/** Imports and reads everything that can be read: it must always be possible. */
async function importAndRead(...pieces: readonly string[]) {
  const session = await talk();
  const report = await importSession(session, pieces);
  const path = (await idsOf(session.path())).toReversed();
  await getPromptWindow(session);
  await session.labels();
  const all = await idsOf(session.entries());
  for (const each of all) expect(await idsOf(session.path(id(each)))).not.toEqual([]);
  await fileOf(session);
  return { session, report, path: path.join(" "), all: all.join(" ") };
}

const header = JSON.stringify({ type: "session", version: 1, id: "old", leaf: null, forkedFrom: null });
const line = (name: string, parentId: string | null, fields: object = {}): string =>
  JSON.stringify({
    id: name,
    parentId,
    at: 1,
    branch: null,
    type: "message",
    message: { role: "user", content: [{ type: "text", text: name }] },
    ...fields,
  });
const file = (...lines: readonly string[]): string => lines.map((each) => `${each}\n`).join("");

test("an import restores an export: entries, branches, labels and leaf", async () => {
  const session = await talk();
  await session.append([user("a"), assistantCalls("b", "1"), results("c", ["1"]), label("l", "a", "start")]);
  await session.append([user("h")], { branch: writer, after: id("a") });
  await session.append([compaction("s", "sum", "b"), reply("d")]);
  await session.append([entry("p", { role: "user", content: [{ type: "data", data: { n: [1, null] } }] })]);
  await session.navigate(id("d"));
  const text = await fileOf(session);
  const { session: copy, report } = await importAndRead(text);
  expect(report).toEqual({ imported: 8, duplicates: 0, moved: 0, skipped: 0 });
  const marked = text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((each) => markUntrusted(each));
  expect((await linesOf(copy)).map(parse)).toEqual(marked);
  expect(await copy.leaf()).toBe("d");
  expect(await copy.labels()).toEqual(await session.labels());
});

test("a fork's header names where it comes from", async () => {
  const session = await talk();
  await session.append([user("a")]);
  const fork = await session.fork(id("a"), { id: SessionId.of("fork"), startedAt: 5 });
  expect(JSON.parse((await fileOf(fork)).split("\n")[0] ?? "")).toEqual({
    type: "session",
    version: 1,
    id: "fork",
    startedAt: 5,
    leaf: "a",
    forkedFrom: { session: "talk", entry: "a" },
  });
});

test("a file may come in pieces of any size", async () => {
  const text = file(line("a", null), line("b", "a"), line("ü", "b"), line("c", "b"));
  expect((await importAndRead(...text.split(""))).path).toBe("a b c");
});

test("an incomplete last line is skipped", async () => {
  const torn = line("c", "b");
  for (const length of [1, 10, torn.length - 1]) {
    const { path, report } = await importAndRead(
      file(line("a", null), line("b", "a")) + torn.slice(0, length),
    );
    expect(path).toBe("a b");
    expect(report).toMatchObject({ imported: 2, skipped: 1 });
  }
});

test("a last line without its line end is read", async () => {
  expect((await importAndRead(`${line("a", null)}\r\n\n${line("b", "a")}`)).path).toBe("a b");
});

test("a file without a header ends at the last entry of the main branch", async () => {
  const lines = [line("a", null), line("b", "a"), line("h", "b", { branch: writer })];
  expect((await importAndRead(file(...lines))).path).toBe("a b");
  const wrong = header.replace("null", '"h"');
  expect((await importAndRead(file(wrong, ...lines))).path).toBe("a b");
});

test("of lines with the same id the first one is kept", async () => {
  const { path, report } = await importAndRead(
    file(line("a", null), line("b", "a"), line("a", "b"), line("b", null)),
  );
  expect(path).toBe("a b");
  expect(report.duplicates).toBe(2);
});

test("an entry with a missing parent is attached to the entry before it", async () => {
  const { path, report } = await importAndRead(
    file(line("a", null), "{torn", line("c", "b"), line("d", "c")),
  );
  expect(path).toBe("a c d");
  expect(report).toMatchObject({ moved: 1, skipped: 1 });
  expect((await importAndRead(file(line("c", "b"), line("d", "c")))).path).toBe("c d");
});

test("parents may come after their children", async () => {
  const { path, report } = await importAndRead(
    file(line("c", "b"), line("b", "a"), line("a", null), line("d", "c")),
  );
  expect(path).toBe("a b c d");
  expect(report.moved).toBe(0);
});

test.each([
  ["of one", [line("a", null), line("b", "b"), line("c", "b")], "a b c"],
  ["of two", [line("a", null), line("b", "c"), line("c", "b"), line("d", "c")], "a c d"],
  ["with a tail", [line("x", "b"), line("b", "c"), line("c", "b")], "c"],
  ["of all", [line("a", "c"), line("b", "a"), line("c", "b")], "b c"],
] as const)("a cycle %s is broken, and all its entries are kept", async (_name, lines, path) => {
  const found = await importAndRead(file(...lines));
  expect(found.report).toMatchObject({ imported: lines.length, moved: 1 });
  expect(found.path).toBe(path);
});

test("the main path never leads through a child's branch", async () => {
  const lines = [line("a", null), line("h", "a", { branch: writer }), line("b", "h")];
  const { session, report } = await importAndRead(file(...lines));
  expect(report.moved).toBe(1);
  await session.settle(writer, { end: null });
  expect(await idsOf(session.path())).toEqual(["b", "a"]);
});

test("entries and blocks of unknown types are kept, ignored, and written back unchanged", async () => {
  const hologram = line("b", "a", { type: "hologram", layers: [1, { deep: null }], at: 1.5 });
  const broken = line("c", "b", { message: { role: "unknown", content: 7 } });
  const blocks = [{ type: "smell", of: "rain" }, { type: "text", text: 7 }, 3, { type: "text", text: "hi" }];
  const mixed = line("d", "c", { message: { role: "user", content: blocks } });
  const lines = [line("a", null), hologram, broken, mixed];
  const { session, path } = await importAndRead(file(...lines));
  expect(path).toBe("a b c d");
  expect((await getPromptWindow(session)).at(-1)?.content.at(-1)).toEqual(ContentBlock.text("hi"));
  const written = await linesOf(session);
  expect(written.map(parse)).toEqual([
    markUntrusted(line("a", null)),
    parse(hologram),
    parse(broken),
    markUntrusted(mixed),
  ]);
  expect(written[1]).toBe(hologram);
});

test("imported entries are untrusted, and their figures are dropped", async () => {
  const told = { hash: "h", messages: 1, usage: { input: 1, output: 1 } };
  const figures = { told, tokens: 1 };
  const claimed = [{ ...fromAFile[0], kind: "tool", name: "trusted", untrusted: false }];
  const lines = [
    line("a", null, { ...figures, labels: { untrusted: false, private: false } }),
    line("b", "a", { ...figures, labels: { untrusted: false, private: true, sources: claimed } }),
    line("c", "b", { ...figures, type: "hologram" }),
  ];
  const { session } = await importAndRead(file(...lines));
  const entries: unknown[] = [];
  for await (const each of session.entries()) entries.push(each);
  expect(entries).toEqual([
    { ...parse(line("a", null)), labels: { untrusted: true, private: false, sources: fromAFile } },
    { ...parse(line("b", "a")), labels: { untrusted: true, private: true, sources: fromAFile } },
    expect.objectContaining({ type: "unknown", raw: parse(line("c", "b", { type: "hologram" })) }),
  ]);
});

test.each([
  "null",
  "7",
  "[]",
  "{}",
  line("", null),
  line("a b", null),
  line("x".repeat(201), null),
  line("a", null, { at: "now" }),
  line("a", null, { parentId: 7 }),
  line("a", null, { branch: "not a run" }),
  line("a", null).replace("null", "1e999"),
])("%s is not an entry", async (text) => {
  const { report } = await importAndRead(file(line("z", null), text));
  expect(report).toMatchObject({ imported: 1, skipped: 1 });
});

test("a name like __proto__ is data and changes no prototype", async () => {
  const evil = '{"__proto__":{"polluted":true},"type":"message","constructor":1}';
  const lines = [
    `{"__proto__":{"id":"x"},"id":"a","parentId":null,"at":1,"branch":null,"type":"custom","kind":"k","data":${evil}}`,
    `{"id":"__proto__","parentId":"a","at":1,"branch":null,"type":"hologram","__proto__":{"polluted":true}}`,
    line("b", "__proto__", { type: "label", target: "__proto__", label: "constructor", message: undefined }),
  ];
  const { session, path } = await importAndRead(file(...lines));
  expect(path).toBe("a __proto__ b");
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  for await (const each of session.entries()) {
    expect(Object.getPrototypeOf(each)).toBe(Object.prototype);
    expect(each).not.toHaveProperty("polluted");
  }
  expect(await session.labels()).toEqual(new Map([["__proto__", "constructor"]]));
  expect((await fileOf(session)).split("\n")[2]).toBe(lines[1]);
});

test("too deeply nested and too long lines are skipped", async () => {
  const deep = line("b", "a", { type: "custom", kind: "k", data: 0, message: undefined }).replace(
    '"data":0',
    `"data":${"[".repeat(200_000)}${"]".repeat(200_000)}`,
  );
  const { path, report } = await importAndRead(file(line("a", null), deep, line("c", "b")));
  expect(path).toBe("a c");
  expect(report).toMatchObject({ imported: 2, skipped: 1, moved: 1 });
  const mebibyte = "x".repeat(1024 * 1024);
  const endless = Array.from({ length: 80 }, () => mebibyte);
  const long = await importAndRead(file(line("a", null)), ...endless, "\n", file(line("c", "a")));
  expect(long.path).toBe("a c");
  expect(long.report.skipped).toBe(1);
});

test("a file with a very long path of entries is read", async () => {
  const count = 20_000;
  const lines = Array.from({ length: count }, (_, index) =>
    line(`e${index}`, index ? `e${index - 1}` : null),
  );
  const session = await talk(memoryStore().sessions);
  const report = await importSession(session, [file(...lines.toReversed())]);
  expect(report).toEqual({ imported: count, duplicates: 0, moved: 0, skipped: 0 });
  expect((await idsOf(session.path(id(`e${count - 1}`)))).length).toBe(count);
});

test("an interrupted import can be repeated", async () => {
  const store = memoryStore().sessions;
  const session = await talk(store);
  const lines = Array.from({ length: 1_200 }, (_, index) =>
    line(`e${index}`, index ? `e${index - 1}` : null),
  );
  const text = file(header.replace('"leaf":null', '"leaf":"e1100"'), ...lines);
  const append = store.append.bind(store);
  let writes = 0;
  store.append = (...args) => (++writes === 2 ? Promise.reject(new Error("crash")) : append(...args));
  await expect(importSession(session, [text])).rejects.toThrow("crash");
  await importSession(session, [text]);
  expect(await session.leaf()).toBe("e1100");
  expect((await idsOf(session.entries())).length).toBe(1_200);
});
