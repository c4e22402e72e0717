import { once } from "node:events";
import { connect } from "node:net";
import { type Agent, AgentId, createRuntime, type NumberedEvent } from "reeve";
import type { EventStore } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { ask, codeOf, open as request } from "./ask.ts";
import { closing } from "./closing.ts";
import { counter, TestServer } from "./test-server.ts";
import { speakingAgent, speaker } from "./speaker.ts";
import { type Message, Subscription } from "./sse.ts";

const openSite = async (...options: Parameters<typeof TestServer.open>): Promise<TestServer> =>
  closing(await TestServer.open(...options));

const watch = (site: TestServer, path: string, last?: string): Promise<Subscription> =>
  Subscription.to(site.url + path, {
    key: site.keys.acme.content,
    ...(last !== undefined && { headers: { "last-event-id": last } }),
  });

const messagesWithId = (messages: readonly Message[]): readonly Message[] =>
  messages.filter(({ id }) => id !== null);

async function history(site: TestServer, tree: string): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of site.runtime.run(tree, { tenant: "acme" }).events()) events.push(event);
  return events;
}

test("a stream that breaks again and again is resumed without a gap and without a duplicate", async () => {
  const site = await openSite();
  await site.post("/runs", { agent: "counter", input: "count", id: "counting" });
  const seen: Message[] = [];
  let subscription = await watch(site, "/runs/counting/events");
  await site.post("/runs/counting/signal", { name: "count", data: 100, id: "1" });
  for (let drops = 0; ; drops += 1) {
    const isLast = drops === 9;
    const some = await subscription.readUntil((messages) => !isLast && messagesWithId(messages).length >= 7);
    await subscription.drop();
    // An item that arrived in the last moment counts: it was seen.
    seen.push(...messagesWithId(some));
    if (isLast) break;
    subscription = await watch(site, "/runs/counting/events", seen.at(-1)?.id ?? "");
  }
  const whole = await history(site, "counting");
  expect(whole.length).toBeGreaterThan(100);
  expect(seen.map(({ id }) => Number(id))).toEqual(whole.map(({ seq }) => seq));
  expect(seen.map(({ data }): unknown => JSON.parse(data))).toEqual(whole);
});

test("a stream begins after the number it is asked for, and says when the tree is over", async () => {
  const site = await openSite();
  await site.post("/runs", { agent: "counter", input: "count", id: "counting" });
  await site.post("/runs/counting/signal", { name: "count", data: 3, id: "1" });
  const whole = await history(site, "counting");
  const some = await (await watch(site, "/runs/counting/events?after=2")).readToEnd();
  expect(messagesWithId(some).map(({ id }) => Number(id))).toEqual(whole.slice(2).map(({ seq }) => seq));
  expect(some.at(-1)).toEqual({ id: null, event: "end", data: "{}" });
  // If both are present, the header is newer: a browser sets it on reconnect.
  const rest = await (await watch(site, "/runs/counting/events?after=1", "4")).readToEnd();
  expect(messagesWithId(rest)[0]?.id).toBe("5");
  const wrong = await ask(`${site.url}/runs/counting/events`, "GET", {
    key: site.keys.acme.content,
    headers: { "last-event-id": "x" },
  });
  expect([wrong.status, codeOf(wrong)]).toEqual([400, "invalid-request"]);
});

/** Joins the pieces of answers. */
const textOf = (messages: readonly Message[]): string =>
  messages
    .filter(({ event }) => event === "delta")
    .map(({ data }): unknown => JSON.parse(data))
    .map((delta) => (typeof delta === "object" && delta && "text" in delta ? String(delta.text) : ""))
    .join("");

test("pieces of answers are sent between events without ids, and do not change the resume position", async () => {
  const { model, say, answer, asked } = speaker();
  const site = await openSite({ agents: [speakingAgent(model)] });
  await site.post("/runs", { agent: "speaker", input: "speak", id: "speech" });
  const first = await watch(site, "/runs/speech/events");
  await site.post("/runs/speech/signal", { name: "speak", id: "1" });
  await asked;
  const pieces = ["the ", "pump ", "was ", "built ", "in 1987"];
  for (const piece of pieces) say(piece);
  const before = await first.readUntil((messages) => textOf(messages) === pieces.join(""));
  expect(before.filter(({ event }) => event === "delta").every(({ id }) => id === null)).toBe(true);
  await first.drop();
  const second = await watch(site, "/runs/speech/events", messagesWithId(before).at(-1)?.id ?? "");
  answer();
  const after = await second.readToEnd();
  const whole = await history(site, "speech");
  const seen = [...messagesWithId(before), ...messagesWithId(after)].map(({ id }) => Number(id));
  expect(seen).toEqual(whole.map(({ seq }) => seq));
  const without = await (await watch(site, "/runs/speech/events?deltas=false")).readToEnd();
  expect(without.filter(({ event }) => event === "delta")).toEqual([]);
});

/** Publishes more than any connection buffers. */
const shouter: Agent = {
  id: AgentId.of("shouter"),
  run: async (ctx) => {
    await ctx.waitFor("shout");
    for (let n = 0; n < 400; n += 1) await ctx.emit({ n, text: "x".repeat(50_000) });
    return "hoarse";
  },
};

test("a subscriber that does not read is disconnected, and one that reads gets every event", async () => {
  const limits = { writeTimeoutMs: 2_000, subscribers: 1 };
  const site = await openSite({ agents: [shouter], limits });
  await site.post("/runs", { agent: "shouter", input: "shout", id: "noise" });
  const { hostname, port } = new URL(site.url);
  const deaf = connect({ host: hostname, port: Number(port) });
  await once(deaf, "connect");
  deaf.write(
    `GET /runs/noise/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${site.keys.acme.content}\r\n\r\n`,
  );
  await once(deaf, "readable");
  const refused = await site.get("/runs/noise/events");
  expect([refused.status, codeOf(refused), refused.headers["retry-after"]]).toEqual([429, "overloaded", "1"]);
  await site.post("/runs/noise/signal", { name: "shout", id: "1" });
  await expect.poll(async () => (await site.get("/runs/noise/events")).status).toBe(200);
  const cut = once(deaf, "close");
  let bytes = 0;
  deaf.on("error", () => undefined);
  deaf.on("data", (part) => (bytes += part.length));
  await cut;
  expect(bytes).toBeLessThan(400 * 50_000);
  const heard = await (await watch(site, "/runs/noise/events")).readToEnd();
  expect(heard.filter(({ data }) => data.includes('"progress.emitted"')).length).toBe(400);
});

test("many watchers of a tree cost the store no more than one", async () => {
  let reads = 0;
  const store = memoryStore();
  const { events: kept } = store;
  const events: EventStore = {
    append: (...given) => kept.append(...given),
    rewrite: (...given) => kept.rewrite(...given),
    waitForEvents: (...given) => kept.waitForEvents(...given),
    changes: (...given) => kept.changes(...given),
    read: (...given) => {
      reads += 1;
      return kept.read(...given);
    },
  };
  const counted = Object.assign(Object.create(store), { events });
  const site = await openSite({ runtime: createRuntime({ agents: [counter], store: counted }) });
  await site.post("/runs", { agent: "counter", input: "count", id: "counting" });
  const watching = Array.from({ length: 30 }, () => watch(site, "/runs/counting/events"));
  const subscriptions = await Promise.all(watching);
  await Promise.all(subscriptions.map((each) => each.readUntil((messages) => messages.length > 0)));
  reads = 0;
  await site.post("/runs/counting/signal", { name: "count", data: 20, id: "1" });
  const heard = await Promise.all(subscriptions.map((each) => each.readToEnd()));
  const readsOfAll = reads;
  const whole = (await history(site, "counting")).map(({ seq }) => String(seq));
  expect(whole.length).toBeGreaterThan(20);
  for (const messages of heard) expect(messagesWithId(messages).map(({ id }) => id)).toEqual(whole);
  // Each batch is looked for, waited for and read, by one for all; there cannot be more batches than events.
  expect(readsOfAll).toBeLessThan(3 * whole.length);
});

test("an idle stream sends signs of life", async () => {
  const clock = manualClock(1_000);
  const site = await openSite({ clock });
  await site.post("/runs", { agent: "counter", input: "count", id: "silence" });
  const stream = await request(`${site.url}/runs/silence/events`, "GET", { key: site.keys.acme.content });
  let text = "";
  stream.on("data", (part) => (text += String(part)));
  await expect.poll(() => text).toContain('"run.start"');
  await expect.poll(() => clock.advance(15_000).then(() => text)).toContain(": beat");
  stream.destroy();
});

test("concurrent requests get at most the available places, and a finished stream frees its place", async () => {
  const site = await openSite({ limits: { subscribersPerKey: 10, writeTimeoutMs: 2_000 } });
  await site.post("/runs", { agent: "counter", input: "count", id: "silence" });
  const statuses = async (): Promise<readonly number[]> => {
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${site.keys.acme.content}` };
    const replies = await Promise.all(
      Array.from({ length: 30 }, () =>
        fetch(`${site.url}/runs/silence/events`, { headers, signal: stop.signal }),
      ),
    );
    stop.abort();
    return replies.map(({ status }) => status).toSorted((one, other) => one - other);
  };
  const [free, refused] = [Array.from({ length: 10 }, () => 200), Array.from({ length: 20 }, () => 429)];
  expect(await statuses()).toEqual([...free, ...refused]);
  await site.post("/runs/silence/cancel", {});
  // In sequence: each has ended before the next begins.
  for (let n = 0; n < 30; n += 1)
    await expect
      .poll(async () => (await site.get("/runs/silence/events", { key: site.keys.acme.content })).status)
      .toBe(200);
});

test("a client that leaves frees its place, even if no event arrives", async () => {
  const site = await openSite({ limits: { subscribersPerKey: 1 } });
  await site.post("/runs", { agent: "counter", input: "count", id: "silence" });
  const first = await watch(site, "/runs/silence/events");
  const second = await site.get("/runs/silence/events", { key: site.keys.acme.content });
  expect([second.status, codeOf(second)]).toEqual([429, "too-many-requests"]);
  await first.drop();
  const status = async (): Promise<number> =>
    (await site.get("/runs/silence/events", { key: site.keys.acme.content })).status;
  await expect.poll(status).toBe(200);
});
