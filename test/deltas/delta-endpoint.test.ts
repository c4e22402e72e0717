import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { environmentKeys, storedKeys } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { afterEach, expect, test } from "vitest";
import { DeltasCutError, type Store, TenantId, TreeId, type WorkerRecord, type Seal } from "#kernel";
import type { Deltas } from "../../src/deltas/deltas.ts";
import type { DeltaEndpointOptions } from "#runtime";
import { answer, processOf, secret, Watcher } from "./channel.ts";

const key = "acme/books";
const open: Deltas[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((deltas) => deltas.close()));
});

function openProcess(
  store: Store,
  ...keys: readonly [ReturnType<typeof environmentKeys>?]
): ReturnType<typeof processOf> {
  const made = processOf(store, ...keys);
  open.push(made.deltas);
  return made;
}

/** A worker and its record in the store. */
async function worker(
  store: Store,
  options: DeltaEndpointOptions = {},
): Promise<ReturnType<typeof processOf> & { readonly record: WorkerRecord }> {
  const made = openProcess(store);
  await made.deltas.serve(options);
  const [record] = await store.workers.list(Date.now());
  if (!record) throw new Error("not listed");
  return { ...made, record };
}

const seal = (sealer: Seal, said: object): string =>
  Buffer.from(sealer.seal(Buffer.from(JSON.stringify(said)))).toString("base64url");

const ask = async (url: string, proof?: string): Promise<number> => {
  const stop = new AbortController();
  const headers: Record<string, string> = proof === undefined ? {} : { authorization: proof };
  const { status } = await fetch(url, { method: "POST", headers, signal: stop.signal });
  stop.abort();
  return status;
};

test("only a caller with the tree's current key for this worker is admitted", async () => {
  const { sealer, record } = await worker(memoryStore());
  const stranger = processOf(
    memoryStore(),
    environmentKeys({ REEVE_KEY: Buffer.alloc(32).toString("base64") }),
  );
  const url = `${record.url}?tree=${encodeURIComponent(key)}`;
  const own = await sealer(key);
  const good = { purpose: "watch deltas", worker: record.id, at: Date.now() };
  expect(await ask(url, seal(own, good))).toBe(200);
  expect(await ask(url)).toBe(401);
  expect(await ask(url, "nonsense")).toBe(401);
  expect(await ask(url, seal(await sealer("other/books"), good))).toBe(401);
  expect(await ask(url, seal(await stranger.sealer(key), good))).toBe(401);
  expect(await ask(url, seal(own, { ...good, purpose: "anything else" }))).toBe(401);
  expect(await ask(url, seal(own, { ...good, worker: "another" }))).toBe(401);
  expect(await ask(url, seal(own, { ...good, at: Date.now() - 31_000 }))).toBe(401);
  expect(await ask(url, seal(own, { ...good, at: "now" }))).toBe(401);
  expect(await ask(`${record.url}?tree=other%2Fbooks`, seal(own, good))).toBe(401);
});

test("a caller without the list finds nothing, and no key is created for it", async () => {
  const store = memoryStore();
  const keys = storedKeys(store.keys, environmentKeys({ REEVE_KEY: secret }));
  const { deltas } = processOf(store, keys);
  open.push(deltas);
  await deltas.serve({});
  const [record] = await store.workers.list(Date.now());
  const { origin } = new URL(record?.url ?? "");
  for (const path of ["/", "/deltas", `/deltas/x?tree=${encodeURIComponent(key)}`, "//", "/%"])
    expect(await ask(origin + path)).toBe(404);
  expect(await store.keys.get({ tenantId: TenantId.of("acme") }, TreeId.of("books"))).toBeNull();
});

test("a reader with other keys gets a refusal", async () => {
  const store = memoryStore();
  await worker(store);
  const stranger = openProcess(store, environmentKeys({ REEVE_KEY: Buffer.alloc(32).toString("base64") }));
  expect(await new Watcher(stranger.deltas, key).ended).toEqual(new DeltasCutError({ reason: "refused" }));
});

test("a reader above the worker's limit is refused, and admitted when another has left", async () => {
  const store = memoryStore();
  const { deltas: source } = await worker(store, { maxReaders: 1 });
  answer(source, key, "a1").take({ kind: "text", text: "hello" });
  const first = new Watcher(openProcess(store).deltas, key);
  await expect.poll(() => first.shown).toBe("hello");
  const refused = new Watcher(openProcess(store).deltas, key);
  expect(await refused.ended).toEqual(new DeltasCutError({ reason: "too-many" }));
  await first.close();
  const next = new Watcher(openProcess(store).deltas, key);
  await expect.poll(() => next.shown).toBe("hello");
});

/** A reader that authenticates and then reads nothing. */
async function connectWithoutReading(record: WorkerRecord, sealer: Seal, at = Date.now()): Promise<Socket> {
  const { hostname, port, pathname } = new URL(record.url);
  const proof = seal(sealer, { purpose: "watch deltas", worker: record.id, at });
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, "connect");
  socket.write(
    `POST ${pathname}?tree=${encodeURIComponent(key)} HTTP/1.1\r\nhost: worker\r\n` +
      `authorization: ${proof}\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  await once(socket, "readable");
  return socket;
}

test("a reader that does not read is disconnected, and others continue", async () => {
  const store = memoryStore();
  const { deltas: source, record, sealer } = await worker(store);
  const feed = answer(source, key, "a1");
  const watcher = new Watcher(openProcess(store).deltas, key);
  await expect.poll(() => watcher.heard.length).toBe(1);
  const socket = await connectWithoutReading(record, await sealer(key));
  const gone = once(socket, "close");
  let said = "";
  const talking = setInterval(() => {
    const text = String(said.length).padStart(50_000, ".");
    said += text;
    feed.take({ kind: "text", text });
  }, 2);
  socket.on("error", () => {});
  // The system's buffers are delivered; then the worker reports the end and disconnects.
  await expect.poll(() => said.length).toBeGreaterThan(20_000_000);
  let last = Buffer.alloc(0);
  let bytes = 0;
  const plain = ".".repeat(100);
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    expect(chunk.includes(plain)).toBe(false);
    last = Buffer.concat([last, chunk]).subarray(-64);
  });
  await gone;
  expect(bytes).toBeLessThan(said.length);
  expect(last.includes(Buffer.of(255, 255, 255, 255))).toBe(true);
  clearInterval(talking);
  feed.end();
  expect(await watcher.close()).toBeNull();
  expect(watcher.shown === said).toBe(true);
});

test("a running worker stays on the list and sends its readers a sign of life; a stopped one does neither", async () => {
  const store = memoryStore();
  const clock = manualClock();
  const { deltas } = processOf(store, undefined, clock);
  await deltas.serve({ url: "http://worker.example:9082" });
  const [first] = await store.workers.list(clock.now());
  expect(first?.url).toMatch(/^http:\/\/worker\.example:9082\/deltas\/[\w-]{24}$/);
  await clock.advance(29_000);
  expect(await store.workers.list(clock.now() + 10_000)).toHaveLength(1);
  await deltas.close();
  expect(await store.workers.list(clock.now())).toEqual([]);
  await expect(processOf(store).deltas.serve({ url: "https://worker.example" })).rejects.toThrow("http://10");
});

test("an idle reader gets signs of life until the key of the tree is destroyed", async () => {
  const store = memoryStore();
  const clock = manualClock();
  const keys = storedKeys(store.keys, environmentKeys({ REEVE_KEY: secret }));
  const { deltas, sealer } = processOf(store, keys, clock);
  open.push(deltas);
  await deltas.serve({});
  const [record] = await store.workers.list(clock.now());
  if (!record) throw new Error("not listed");
  const socket = await connectWithoutReading(record, await sealer(key), clock.now());
  let heard = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => (heard = Buffer.concat([heard, chunk])));
  await clock.advance(10_000);
  await expect.poll(() => heard.includes(Buffer.of(0, 0, 0, 0))).toBe(true);
  expect(socket.readyState).toBe("open");
  const gone = once(socket, "close");
  await keys.destroy?.(key);
  await clock.advance(10_000);
  await gone;
});
