import { gzipSync } from "node:zlib";
import { AgentId, type NumberedEvent, SessionId, TreeId } from "reeve";
import { eraseEvent, isJsonObject } from "#kernel";
import { Partition } from "reeve/store";
import { expect, test } from "vitest";
import { type AgentState, TreeModel, type TreeSnapshot } from "../../src/view/index.ts";
import { Story } from "../cli/story.ts";
import { TreeSnapshots } from "../../src/server/tree-snapshots.ts";
import { closing } from "./closing.ts";
import { TestServer } from "./test-server.ts";

function snapshotIn(text: string): TreeSnapshot {
  return JSON.parse(text);
}

test("a tree is shown in one request, and its events continue from there", async () => {
  const site = closing(await TestServer.open());
  const begun = { agent: "writer", input: "send", id: "field", budget: { maxCostUsd: 2, maxTurns: 9 } };
  await site.post("/runs", begun);
  const run = site.runtime.run("field", { tenant: "acme" });
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  const early = snapshotIn((await site.get("/runs/field/view")).text);
  const view = TreeModel.from(early).view;
  expect(view?.counts).toMatchObject({ agents: 1, live: 1, asks: 1 });
  expect(view?.root).toMatchObject({
    status: "waiting",
    activity: { kind: "approval", tool: "send_email" },
    limits: { maxTurns: 9 },
  });
  expect(view?.limits).toEqual({ maxCostMicros: 2_000_000, maxTokens: null, maxAgents: 50 });
  await run.approve(view?.root.asks[0]?.id ?? "");
  await run.result();
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  const resumed = TreeModel.from(early);
  for (const event of events) resumed.apply(event);
  expect(resumed.view).toEqual(TreeModel.of(events).view);
  const late = snapshotIn((await site.get("/runs/field/view")).text);
  expect(TreeModel.from(late).view).toEqual(resumed.view);
  expect(TreeModel.from(snapshotIn((await site.get("/runs/field~0/view")).text)).view).toEqual(resumed.view);
});

test("a live tree is continued from its last event, and one that has ended is read again", async () => {
  const site = closing(await TestServer.open());
  const { events } = site.runtime.store;
  const story = new Story().starts(0, "lead").advance(5);
  const put = (): Promise<void> => events.append(Partition.of("acme"), story.treeId, story.events);
  await put();
  const runs = site.runtime.store.runs;
  await runs.put(Partition.of("acme"), {
    treeId: story.treeId,
    runId: story.run(0),
    parentRunId: null,
    agentId: AgentId.of("lead"),
    userId: null,
    sessionId: SessionId.of("s"),
    status: "running",
    stopReason: null,
    startedAt: 0,
    endedAt: null,
    costMicros: 0,
    inDoubtMicros: 0,
    reservedMicros: 0,
    maxCostMicros: null,
    name: null,
    agents: 1,
    liveAgents: 1,
    seq: 1,
  });
  const read = async (): Promise<TreeSnapshot> =>
    snapshotIn((await site.get(`/runs/${story.treeId}/view`)).text);
  expect((await read()).seq).toBe(1);
  const secret = "the words of a guardrail";
  story.tell(0, "guardrail.trip", { guardrail: "g", reason: secret, decision: "halt" });
  await put();
  expect(JSON.stringify(await read())).toContain(secret);
  story.ends(0, { costMicros: 0 });
  const [first, trip, end] = story.events;
  if (!first || !trip || !end) throw new Error("no events");
  // Erased when the tree was over.
  await events.append(Partition.of("acme"), story.treeId, [end]);
  const gone = eraseEvent(trip);
  await events.rewrite(Partition.of("acme"), story.treeId, [gone]);
  const erased = await read();
  expect(erased.seq).toBe(3);
  expect(JSON.stringify(erased)).not.toContain(secret);
});

test("200 agents are at most 20 kB, compressed", () => {
  const story = new Story().starts(0, "lead").asks(0, "r", { cost: 900 });
  story.tell(0, "tool.start", { tool: "spawn", callId: "c" });
  let random = 7;
  const ms = (): number => (random = (random * 48_271) % 2_147_483_647) % 9_000;
  for (let n = 1; n < 200; n += 1) {
    story.starts(n, n % 3 === 0 ? "researcher" : "writer", { parent: n > 20 ? n % 20 : 0 });
    for (let call = 0; call < 3; call += 1) {
      story.advance(ms()).asks(n, `a${n}.${call}`, { reserve: ms() });
      story.advance(ms()).answers(n, `a${n}.${call}`, ms());
      const callId = `toolu_${ms()}${ms()}`;
      story.tell(n, "tool.start", { tool: "search", callId }, `t${n}.${call}`).advance(ms());
      story.tell(n, "tool.end", { tool: "search", callId, status: "ok", durationMs: 1 }, `t${n}.${call}`);
    }
    if (n % 2 === 0) story.ends(n, { costMicros: ms() });
  }
  const snapshot = TreeModel.of(story.events).snapshot();
  const bytes = gzipSync(JSON.stringify(snapshot)).length;
  expect(snapshot.agents).toHaveLength(200);
  expect(bytes).toBeLessThan(20_000);
});

test("a caller without content is not shown the errors of the program's code", async () => {
  const site = closing(await TestServer.open());
  const story = new Story().starts(0, "lead");
  const diagnostic = { source: "tool fetch", name: "Error", message: "the words", frames: [] };
  story.tell(0, "tool.start", { tool: "fetch", callId: "c" }, "t");
  story.tell(0, "tool.end", { tool: "fetch", callId: "c", status: "error", durationMs: 1, diagnostic }, "t");
  await site.runtime.store.events.append(Partition.of("acme"), TreeId.of("broken"), story.events);
  const snapshots = new TreeSnapshots(site.runtime);
  const of = async (scopes: readonly ("read" | "content")[]): Promise<readonly AgentState[]> =>
    (await snapshots.read({ id: "k", tenant: "acme", scopes }, TreeId.of("broken"))).agents;
  expect((await of(["read", "content"]))[0]?.brokenTools).toHaveLength(1);
  expect((await of(["read"]))[0]?.brokenTools).toEqual([]);
});

test("a list of trees shows names, caps, agents and runs that wait for a person, and takes several filters", async () => {
  const site = closing(await TestServer.open());
  const begin = (id: string, more: object): Promise<unknown> =>
    site.post("/runs", { agent: "writer", input: "send", id, ...more });
  await begin("north", { name: "Send the north field", budget: { maxCostUsd: 3 } });
  const run = site.runtime.run("north", { tenant: "acme" });
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  const list = async (query: string): Promise<readonly unknown[]> => {
    const { json } = await site.get(`/runs?roots=true&${query}`);
    return isJsonObject(json) && Array.isArray(json["items"]) ? json["items"] : [];
  };
  const live = "status=running,waiting,pending";
  await expect
    .poll(() => list(live))
    .toMatchObject([
      {
        name: "Send the north field",
        maxCostMicros: 3_000_000,
        agents: 1,
        liveAgents: 1,
        asks: 1,
        status: "waiting",
      },
    ]);
  await run.cancel("user");
  const ended = { maxCostMicros: 3_000_000, agents: 1, liveAgents: 0, asks: 0, stopReason: "cancelled" };
  await expect.poll(() => list("stop=cancelled")).toMatchObject([ended]);
  expect(await list(live)).toEqual([]);
  expect(await list(`since=${Date.now() + 60_000}`)).toEqual([]);
  expect(await list(`until=${Date.now() + 60_000}`)).toHaveLength(1);
  for (const query of ["status=done", "status=running,", "stop=bored", "since=now"])
    expect((await site.get(`/runs?${query}`)).status).toBe(400);
  const long = await site.post("/runs", { agent: "writer", input: "send", name: "x".repeat(121) });
  expect(long.status).toBe(400);
});
