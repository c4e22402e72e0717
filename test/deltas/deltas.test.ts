import { memoryStore } from "reeve/stores/memory";
import { afterEach, expect, test } from "vitest";
import { DeltasCutError } from "#kernel";
import type { Deltas } from "../../src/deltas/deltas.ts";
import { answer, processOf, updates, Watcher } from "./channel.ts";

const key = "acme/books";
const open: Deltas[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((deltas) => deltas.close()));
});

function openDeltas(store: Parameters<typeof processOf>[0]): Deltas {
  const { deltas } = processOf(store);
  open.push(deltas);
  return deltas;
}

async function worker(store: Parameters<typeof processOf>[0]): Promise<Deltas> {
  const deltas = openDeltas(store);
  await deltas.serve({});
  return deltas;
}

test("pieces that come close together are sent as one, and the last ones before the end", async () => {
  const store = memoryStore();
  const [source, reader] = [await worker(store), openDeltas(store)];
  const feed = answer(source, key, "a1");
  const watcher = new Watcher(reader, key);
  await expect.poll(() => watcher.heard.length).toBe(1);
  for (let n = 0; n < 1_000; n += 1) feed.take({ kind: "text", text: `${n} ` });
  feed.take({ kind: "tool-input", text: "{}" });
  feed.end();
  expect(await watcher.close()).toBeNull();
  expect(watcher.heard.map(({ kind }) => kind)).toEqual(["reset", "text", "tool-input"]);
  expect(watcher.heard[1]?.text).toBe(Array.from({ length: 1_000 }, (_, n) => `${n} `).join(""));
});

test("a subscriber that joins during an answer gets it from its beginning, in this and other processes", async () => {
  const store = memoryStore();
  const source = await worker(store);
  const feed = answer(source, key, "a1");
  feed.take({ kind: "reasoning", text: "hm" });
  feed.take({ kind: "text", text: "Once " });
  const watchers = [new Watcher(source, key), new Watcher(openDeltas(store), key)];
  await expect.poll(() => watchers.map(({ shown }) => shown)).toEqual(["hmOnce ", "hmOnce "]);
  feed.take({ kind: "text", text: "upon" });
  for (const watcher of watchers) {
    await watcher.close();
    expect(watcher.heard.map(({ kind }) => kind).slice(0, 3)).toEqual(["reset", "reasoning", "text"]);
    expect(watcher.shown).toBe("hmOnce upon");
  }
});

test("trees of two tenants with the same id have separate streams, in this and other processes", async () => {
  const store = memoryStore();
  const source = await worker(store);
  const watchers = [new Watcher(source, "other/books"), new Watcher(openDeltas(store), "other/books")];
  const own = new Watcher(openDeltas(store), key);
  const feed = answer(source, key, "a1");
  feed.take({ kind: "text", text: "a secret" });
  await expect.poll(() => own.shown).toBe("a secret");
  for (const watcher of watchers) await watcher.close();
  expect(watchers.flatMap(({ heard }) => heard)).toEqual([]);
});

test("after a lost worker another one restarts the answer, and no text is missing", async () => {
  const store = memoryStore();
  const [first, reader] = [await worker(store), openDeltas(store)];
  answer(first, key, "a1").take({ kind: "text", text: "half of" });
  const watcher = new Watcher(reader, key);
  await expect.poll(() => watcher.shown).toBe("half of");
  await first.close();
  const second = await worker(store);
  const feed = answer(second, key, "a2");
  feed.take({ kind: "text", text: "whole" });
  await expect.poll(() => watcher.shown).toBe("whole");
  expect(watcher.heard.map(({ kind, attempt }) => `${kind} ${attempt}`)).toEqual([
    "reset a1",
    "text a1",
    "reset a2",
    "text a2",
  ]);
});

test("the pieces of an abandoned attempt are dropped", async () => {
  const store = memoryStore();
  const source = await worker(store);
  const watcher = new Watcher(source, key);
  const feed = answer(source, key, "a1");
  feed.end();
  feed.take({ kind: "text", text: "too late" });
  await watcher.close();
  expect(watcher.shown).toBe("");
});

test("without an endpoint a model streams only while there is a subscriber", async () => {
  const reader = openDeltas(memoryStore());
  expect(() => answer(reader, key, "a1")).toThrow("no watcher");
  const watcher = new Watcher(reader, key);
  answer(reader, key, "a2").end();
  await watcher.close();
  expect(() => answer(reader, key, "a3")).toThrow("no watcher");
});

test("a reader that reads nothing is disconnected with an error, and its queue is freed", async () => {
  const source = openDeltas(memoryStore());
  const over = Promise.withResolvers<void>();
  const slow = source.watch(key, () => over.promise);
  const first = slow.next();
  const feed = answer(source, key, "a1");
  await first;
  for (let n = 0; n < 20; n += 1) feed.take({ kind: "text", text: "x".repeat(60_000) });
  feed.end();
  expect(() => answer(source, key, "a2")).toThrow("no watcher");
  await expect(slow.next()).rejects.toEqual(new DeltasCutError({ reason: "too-slow" }));
});

test("an error that ends the tree ends its watchers with the error", async () => {
  const broken = openDeltas(memoryStore()).watch(key, () => Promise.reject(new Error("no such run")));
  await expect(broken.next()).rejects.toThrow("no such run");
});

test("readers get the newest progress of a call, even late readers, in this and other processes", async () => {
  const store = memoryStore();
  const source = await worker(store);
  const feed = updates(source, key, "t1");
  feed.take({ tool: "fetch", callId: "c1", progress: 1 });
  const watchers = [new Watcher(source, key), new Watcher(openDeltas(store), key)];
  const newest = (): readonly unknown[] => watchers.map(({ heard }) => heard.at(-1)?.update?.progress);
  await expect.poll(newest).toEqual([1, 1]);
  for (let n = 2; n <= 100; n += 1) feed.take({ tool: "fetch", callId: "c1", progress: n });
  await expect.poll(newest).toEqual([100, 100]);
  expect(watchers[1]?.heard.length).toBeLessThan(10);
  feed.end();
  for (const watcher of watchers) {
    await watcher.close();
    expect(new Set(watcher.heard.map(({ kind, text }) => `${kind}${text}`))).toEqual(
      new Set(["tool-update"]),
    );
  }
  const late = new Watcher(source, key);
  await late.close();
  expect(late.heard).toEqual([]);
});

test("the progress of a call is not recorded if no reader can subscribe", () => {
  const deltas = openDeltas(memoryStore());
  const feed = updates(deltas, key, "t1");
  expect(feed.isOpen).toBe(false);
  feed.take({ tool: "fetch", callId: "c1", progress: 1 });
  expect(deltas.hub.soFar(key)).toEqual([]);
});
