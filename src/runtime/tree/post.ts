import {
  AgentId,
  CancellationError,
  Json,
  keysOf,
  RunEndedError,
  RunId,
  WaitCycleError,
  type Envelope,
  type MessageId,
  type ObjectContext,
  type RunResult,
} from "#kernel";
import { book } from "./gate.ts";
import { deadLetter, denialOf, hire, wakeNew } from "./hire.ts";
import { perform } from "./life.ts";
import type { ArgumentOf, HireArgument, ReplyOf, SendArgument } from "./protocol.ts";
import type { AsksRecord, EndedRecord, RunRecord, TopicsRecord } from "./records.ts";
import type { TreeWork } from "./tree-work.ts";

/** Hires a helper for a run. */
export async function hireFor(work: TreeWork, argument: HireArgument): Promise<ReplyOf<"hire">> {
  const { run: parent, text, messageId, asks } = argument;
  await book(work, parent, argument.reports);
  const boss = await work.live(parent);
  const reason = work.slot(parent)?.cancelled ?? null;
  if (reason !== null) return { error: new CancellationError({ reason }).toJSON() };
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: parent, agentId: boss.agentId },
    text: text ?? "",
    askedBy: asks ? parent : undefined,
    at: work.now,
  };
  const { run, admission } = await hire(work, { ...argument, parent, boot: text === null ? [] : [envelope] });
  await perform(work);
  if (admission.kind === "denied") return { error: denialOf(admission) };
  if (asks) await noteAsk(work, messageId, parent, run);
  return { run };
}

/** Brings a message to a run, or to an agent: its oldest live run, else a new one. */
export async function send(work: TreeWork, argument: SendArgument): Promise<ReplyOf<"send">> {
  const target = await resolve(work, argument.to);
  if (!target) return { deadLetter: "no such agent" };
  const { messageId: id, from, text, data, askedBy } = argument;
  const envelope: Envelope = { id, from, text, data, askedBy, at: work.now };
  const seen = `seen/${target.agentId}/${id}`;
  const before = Json.as<RunId | null>(await work.object.get(seen));
  if (before) return { to: before };
  if (askedBy && target.run) {
    const cycle = await cycleOf(work, askedBy, target.run);
    if (cycle) return { error: new WaitCycleError({ cycle }).toJSON() };
  }
  const to = await deliver(work, target, envelope);
  if (!to) {
    await work.run(work.root);
    deadLetter(work, work.root, [envelope], "tree-ended");
    return { deadLetter: "tree-ended" };
  }
  work.object.set(seen, to);
  if (from.kind === "run")
    work.emit(from.runId, "message.sent", { messageId: id, to }, { place: `sent/${id}` });
  if (askedBy) {
    await noteAsk(work, id, askedBy, to);
    await watchFor(work, askedBy, to);
  }
  return { to };
}

interface Target {
  readonly agentId: AgentId;
  /** Null: nobody of that name lives. */
  readonly run: RunId | null;
  /** What a new run of that agent is modelled on. */
  readonly like: RunRecord | null;
}

async function resolve(work: TreeWork, to: RunId | AgentId): Promise<Target | null> {
  const direct = RunId.is(to) ? await work.run(to) : null;
  if (RunId.is(to) && direct) return { agentId: direct.agentId, run: to, like: null };
  const ended = Json.as<EndedRecord | null>(await work.object.get(`ended/${to}`));
  if (!ended && RunId.is(to)) return null;
  const agentId = ended ? ended.agentId : AgentId.parse(to);
  const ids = keysOf(work.slots).toSorted(byOrder(work));
  const runs = await Promise.all(ids.map((id) => work.run(id)));
  const found = ids.find(
    (_, index) => runs[index]?.agentId === agentId && work.slot(ids[index] ?? work.root)?.cancelled === null,
  );
  const root = await work.run(work.root);
  return { agentId, run: found ?? null, like: root && { ...root, agentId, tools: null, version: "1" } };
}

const byOrder =
  (work: TreeWork) =>
  (a: RunId, b: RunId): number =>
    (work.slot(a)?.order ?? 0) - (work.slot(b)?.order ?? 0);

async function deliver(work: TreeWork, { run, like }: Target, envelope: Envelope): Promise<RunId | null> {
  if (run) {
    await work.push(run, { kind: "message", envelope });
    return run;
  }
  if (!like) return null;
  const next = RunId.of(work.tree.treeId, work.tree.nextRun);
  const isHired = await wakeNew(work, like, [envelope]);
  await perform(work);
  return isHired ? next : null;
}

async function asksOf(work: TreeWork): Promise<AsksRecord> {
  return Json.as((await work.object.get("asks")) ?? {});
}

async function noteAsk(work: TreeWork, id: MessageId, from: RunId, to: RunId): Promise<void> {
  const asks = await asksOf(work);
  const open = Object.entries(asks).filter(([, ask]) => work.slot(ask.from) && work.slot(ask.to));
  work.object.set("asks", Json.of({ ...Object.fromEntries(open), [id]: { from, to } }));
}

async function forgetAsk(work: TreeWork, id: MessageId): Promise<void> {
  const { [id]: asked, ...asks } = await asksOf(work);
  if (asked) work.object.set("asks", Json.of(asks));
}

/** The runs that would wait on each other if `from` asked `to`; null if none would. */
async function cycleOf(work: TreeWork, from: RunId, to: RunId): Promise<readonly RunId[] | null> {
  const edges = Object.values(await asksOf(work));
  const walk = (at: RunId, path: readonly RunId[]): readonly RunId[] | null => {
    if (at === from) return [...path, at];
    if (path.includes(at)) return null;
    for (const edge of edges) {
      const found = edge.from === at ? walk(edge.to, [...path, at]) : null;
      if (found) return found;
    }
    return null;
  };
  return walk(to, [from]);
}

/** Brings an answer to the run that asked, if it still waits. */
export async function reply(work: TreeWork, argument: ArgumentOf<"reply">): Promise<null> {
  const { ask, to, text, data } = argument;
  await forgetAsk(work, ask);
  await work.push(to, { kind: "reply", ask, text, data });
  return null;
}

/** A question timed out. */
export async function unask(work: TreeWork, { ask }: ArgumentOf<"unask">): Promise<null> {
  await forgetAsk(work, ask);
  return null;
}

/** The result of another run, now or as news. */
export async function watch(work: TreeWork, { run, target }: ArgumentOf<"watch">): Promise<RunResult | null> {
  const ended = Json.as<EndedRecord | null>(await work.object.get(`ended/${target}`));
  if (ended) return ended.result;
  if (!(await work.run(target))) throw new RunEndedError({ run: target });
  await watchFor(work, run, target);
  return null;
}

async function watchFor(work: TreeWork, watcher: RunId, target: RunId): Promise<void> {
  const run = await work.live(target);
  if (run.supervision.parentRunId === watcher || run.watchers.includes(watcher)) return;
  work.put(target, { ...run, watchers: [...run.watchers, watcher] });
}

/** Tells a topic: the tree's stream, and everybody who follows. */
export async function emit(work: TreeWork, argument: ArgumentOf<"emit">): Promise<null> {
  const { run, topic, data, messageId } = argument;
  await book(work, run, argument.reports);
  const { agentId } = await work.live(run);
  work.emit(run, "progress.emitted", { topic, data }, { place: `progress/${messageId}` });
  const followers = (await topicsOf(work.object))[topic] ?? [];
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: run, agentId },
    text: "",
    data,
    topic,
    at: work.now,
  };
  for (const follower of followers) {
    await work.push(follower, { kind: "topic", envelope });
  }
  return null;
}

async function topicsOf(object: ObjectContext): Promise<TopicsRecord> {
  return Json.as((await object.get("topics")) ?? {});
}

/** Begins or ends following a topic. */
export async function follow(work: TreeWork, { run, topic, on }: ArgumentOf<"follow">): Promise<null> {
  const topics = await topicsOf(work.object);
  const others = (topics[topic] ?? []).filter((follower) => follower !== run && work.slot(follower));
  work.object.set("topics", Json.of({ ...topics, [topic]: on ? [...others, run] : others }));
  return null;
}

/** A signal from outside. One id counts once. */
export async function signal(work: TreeWork, argument: ArgumentOf<"signal">): Promise<null> {
  const { run, name, data, messageId } = argument;
  if (await isNews(work, run, messageId)) await work.push(run, { kind: "signal", name, data });
  return null;
}

/** Words from outside, for the work in hand or for after it. */
export async function nudge(work: TreeWork, argument: ArgumentOf<"nudge">): Promise<null> {
  const { run, kind, text, messageId } = argument;
  const envelope: Envelope = { id: messageId, from: { kind: "outside", name: "user" }, text, at: work.now };
  if (await isNews(work, run, messageId)) await work.push(run, { kind, envelope });
  return null;
}

/** @throws RunEndedError unless the run lives. False if the id was seen before. */
async function isNews(work: TreeWork, run: RunId, id: string): Promise<boolean> {
  await work.live(run);
  const key = `seen/${run}/${id}`;
  if ((await work.object.get(key)) !== null) return false;
  work.object.set(key, true);
  return true;
}
