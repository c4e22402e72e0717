import { getPromptWindow, Session, type SessionEntry } from "reeve/store";
import { Json, NotFoundError, RunId, SessionId, TreeId } from "reeve";
import { expect, test } from "vitest";
import { memoryStore } from "reeve/stores/memory";
import { id, idsOf, label, reply, talk, user } from "./talk.ts";

const tree = TreeId.of("books");
const writer = RunId.of(tree, 1);

test("the path leads from the leaf to the root", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b")]);
  await session.append([user("c")]);
  expect(await idsOf(session.path())).toEqual(["c", "b", "a"]);
  expect(await session.leaf()).toBe("c");
});

test("an empty session has an empty path", async () => {
  expect(await idsOf((await talk()).path())).toEqual([]);
});

test("an unopened session reports an error", async () => {
  const { store, partition } = await talk();
  const session = new Session(store, partition, { id: SessionId.of("other"), userId: null });
  await expect(session.head()).rejects.toThrow(NotFoundError);
  await expect(session.append([user("a")])).rejects.toThrow(NotFoundError);
});

test("a repeated append changes nothing, even if the leaf has moved", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b")]);
  await session.append([user("a"), reply("b")]);
  expect(await idsOf(session.path())).toEqual(["b", "a"]);
  await session.append([user("c")]);
  await session.append([user("a"), reply("b", "another")]);
  expect(await idsOf(session.path())).toEqual(["c", "b", "a"]);
  await session.navigate(id("a"));
  await session.append([user("c")]);
  expect(await session.leaf()).toBe("a");
});

test("a repeated append with more entries adds only the new ones", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b")]);
  await session.append([user("a"), reply("b"), user("c")]);
  expect(await idsOf(session.path())).toEqual(["c", "b", "a"]);
});

test("navigating moves the leaf and loses nothing", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b"), user("c")]);
  await session.navigate(id("a"));
  await session.append([reply("d")]);
  expect(await idsOf(session.path())).toEqual(["d", "a"]);
  expect(await idsOf(session.path(id("c")))).toEqual(["c", "b", "a"]);
  await session.navigate(null);
  expect(await idsOf(session.path())).toEqual([]);
});

test("navigating with a summary of the abandoned branch is one write", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b"), user("c")]);
  const summary = { id: id("s"), at: 0, type: "branch", from: id("c"), summary: "tried c" } as const;
  for (let time = 0; time < 2; time += 1) await session.append([summary], { after: id("a") });
  expect(await idsOf(session.path())).toEqual(["s", "a"]);
});

test("navigating to a missing entry or a child's entry is refused and moves nothing", async () => {
  const session = await talk();
  await session.append([user("a")]);
  await session.append([user("h")], { branch: writer });
  for (const to of ["x", "h"]) {
    await expect(session.navigate(id(to))).rejects.toThrow(NotFoundError);
    await expect(session.append([user("z")], { after: id(to) })).rejects.toThrow(NotFoundError);
  }
  expect(await idsOf(session.path())).toEqual(["a"]);
});

test("a child's branch grows beside the main one, from nothing or from an entry of it", async () => {
  const session = await talk();
  const second = RunId.of(tree, 2);
  await session.append([user("a")]);
  await session.append([user("h1")], { branch: writer });
  await session.append([user("s1")], { branch: second, after: id("a") });
  await session.append([reply("b")]);
  await session.append([reply("h2")], { branch: writer });
  expect(await idsOf(session.path())).toEqual(["b", "a"]);
  expect(await idsOf(session.path(await session.leaf(writer)))).toEqual(["h2", "h1"]);
  expect(await idsOf(session.path(await session.leaf(second)))).toEqual(["s1", "a"]);
  await expect(session.append([user("s2")], { branch: second, after: id("h1") })).rejects.toThrow(
    NotFoundError,
  );
});

test("dropping a branch removes only the entries of its child", async () => {
  const session = await talk();
  await session.append([user("a")]);
  await session.append([user("h1")], { branch: writer, after: id("a") });
  await session.append([reply("b")]);
  for (let time = 0; time < 2; time += 1) await session.settle(writer, { end: null });
  expect(await idsOf(session.entries())).toEqual(["a", "b"]);
  expect(await session.leaf(writer)).toBeNull();
  expect(await session.leaf()).toBe("b");
});

test("a fork has the path and a link to its source, and the two continue separately", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b"), user("c")]);
  await session.navigate(id("b"));
  await session.append([user("d")]);
  const fork = await session.fork(id("c"), { id: SessionId.of("fork"), startedAt: 1 });
  expect((await idsOf(fork.entries())).toSorted()).toEqual(["a", "b", "c"]);
  expect((await fork.head()).forkedFrom).toEqual({ session: session.id, entry: "c" });
  await fork.append([reply("e")]);
  await session.fork(id("c"), { id: SessionId.of("fork"), startedAt: 1 });
  expect(await idsOf(fork.path())).toEqual(["e", "c", "b", "a"]);
  expect(await idsOf(session.path())).toEqual(["d", "b", "a"]);
});

test("a fork of a child's conversation is on the fork's main branch", async () => {
  const session = await talk();
  await session.append([user("a")]);
  await session.append([user("h1"), reply("h2")], { branch: writer, after: id("a") });
  const fork = await session.fork(id("h2"), { id: SessionId.of("fork"), startedAt: 1 });
  await session.settle(writer, { end: null });
  await fork.settle(writer, { end: null });
  expect(await idsOf(fork.path())).toEqual(["h2", "h1", "a"]);
});

test("the newest label of an entry counts, even from an abandoned branch", async () => {
  const session = await talk();
  await session.append([user("a"), user("b"), label("l1", "a", "start"), label("l2", "b", "wrong")]);
  await session.navigate(id("a"));
  await session.append([label("l3", "b", null), label("l4", "a", "begin")]);
  expect(await session.labels()).toEqual(new Map([["a", "begin"]]));
});

test("newer versions, damaged entries and cycles of stored entries stay readable", async () => {
  const session = await talk();
  const stored = [
    { id: "a", parentId: "c", at: 0, branch: null, type: "hologram", layers: 3 },
    { id: "b", parentId: "a", at: 0, branch: null, type: "message", message: "no message" },
    { id: "c", parentId: "b", at: 0, branch: null, type: "unknown", raw: 7 },
  ];
  await session.store.append(session.partition, session.key, stored.map(Json.as<SessionEntry>));
  const path: SessionEntry[] = [];
  for await (const each of session.path()) path.push(each);
  const [a, b, c] = stored;
  expect(path).toEqual([
    c,
    { id: "b", parentId: "a", at: 0, branch: null, type: "unknown", raw: b },
    { id: "a", parentId: "c", at: 0, branch: null, type: "unknown", raw: a },
  ]);
  expect(await getPromptWindow(session)).toEqual([]);
});

test("labels, usage and estimate of a stored entry are read, each if it is valid", async () => {
  const session = await talk();
  const labels = { untrusted: true, private: false };
  const told = { hash: "h", messages: 3, usage: { input: 9, output: 2, cachedInput: 4 } };
  const wrong = [
    { labels: { untrusted: "yes", private: false }, told, tokens: 5 },
    { labels, told: { ...told, usage: { input: 1, output: 2, cachedInput: 4 } }, tokens: 5 },
    { labels, told: { ...told, messages: -1 }, tokens: 0.5 },
    { labels, told: { ...told, more: 1 }, tokens: 5, extra: 1 },
  ];
  const written = wrong.map((details, n) =>
    Object.assign(
      { id: `e${n}`, parentId: n === 0 ? null : `e${n - 1}`, at: 0, branch: null },
      { type: "model-change", model: "m" },
      details,
    ),
  );
  await session.store.append(session.partition, session.key, written.map(Json.as<SessionEntry>));
  const read: unknown[] = [];
  for await (const { id: _id, parentId: _p, at: _at, branch: _b, ...said } of session.entries())
    read.push(said);
  const said = { type: "model-change", model: "m" };
  expect(read).toEqual([
    { ...said, told, tokens: 5 },
    { ...said, labels, tokens: 5 },
    { ...said, labels },
    { ...said, labels, told, tokens: 5 },
  ]);
});

test("a path is read only as far as the caller iterates", async () => {
  const session = await talk();
  const all = Array.from({ length: 300 }, (_, index) => user(`e${index}`));
  await session.append(all);
  const found = await idsOf(session.path());
  expect(found).toEqual(all.map((each) => each.id).toReversed());
  const walk = session.path();
  expect((await walk.next()).value?.id).toBe("e299");
  await walk.return();
});

test("a path is read in pages of 64, 256, then 1,024 entries", async () => {
  const { sessions } = memoryStore();
  const limits: number[] = [];
  const path = sessions.path.bind(sessions);
  sessions.path = (partition, key, range) => {
    limits.push(range.limit);
    return path(partition, key, range);
  };
  const session = await talk(sessions);
  await session.append(Array.from({ length: 2_500 }, (_, index) => user(`e${index}`)));
  expect(await idsOf(session.path())).toHaveLength(2_500);
  expect(limits).toEqual([64, 256, 1_024, 1_024, 1_024]);
});

test("a session can be renamed and removed", async () => {
  const session = await talk();
  await session.append([user("a")]);
  await session.rename("A talk");
  expect(await session.head()).toMatchObject({ title: "A talk", leaf: "a" });
  await session.remove();
  await expect(session.head()).rejects.toThrow(NotFoundError);
  await expect(session.rename("none")).rejects.toThrow(NotFoundError);
});
