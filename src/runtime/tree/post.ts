import {
  AgentId,
  CancellationError,
  Json,
  keysOf,
  NotFoundError,
  RunEndedError,
  RunId,
  WaitCycleError,
  type Envelope,
  type MessageId,
  type RunResult,
} from "#kernel";
import { cycleOf, noteAsk } from "./asks.ts";
import { book } from "./reports.ts";
import { deadLetter, denialOf, hire, wakeNew } from "./hire.ts";
import { perform } from "./life.ts";
import type { ArgumentOf, HireArgument, ReplyOf, SendArgument } from "./protocol.ts";
import { endedOf, remains } from "./remains.ts";
import type { TreeWork } from "./tree-work.ts";

/** Hires a helper for a run. */
export function hireFor(work: TreeWork, argument: HireArgument): ReplyOf<"hire"> {
  const { run: parent, agentId, text, messageId, asks } = argument;
  book(work, argument);
  const boss = work.live(parent);
  const reason = work.slot(parent)?.cancelled ?? null;
  if (reason !== null) return { error: new CancellationError({ reason }).toJSON() };
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: parent, agentId: boss.agentId },
    text: text ?? "",
    // Whoever gives a task may ask for its reply later.
    askedBy: parent,
    ...(argument.labels && { labels: argument.labels }),
    at: work.now,
  };
  const terms = work.host.agents[AgentId.type(agentId)];
  if (!terms) return { error: new NotFoundError({ what: "agent", id: agentId }).toJSON() };
  const { run, admission } = hire(work, {
    ...argument,
    parent,
    version: terms.version,
    priority: argument.priority ?? terms.priority,
    budget: argument.budget ?? terms.budget,
    retention: argument.retention ?? terms.retention,
    boot: text === null ? [] : [envelope],
  });
  perform(work);
  if (admission.kind === "denied") return { error: denialOf(admission) };
  if (text !== null) work.object.set(seenKey(agentId, messageId), run);
  if (asks) noteAsk(work, messageId, parent, run);
  const queued = admission.kind === "queued" ? { victim: admission.victim } : null;
  return { run, priority: argument.priority ?? terms.priority, queued };
}

/** Brings a message to a run, or to an agent: its oldest live run, else a new one. The same id is delivered once. */
export function send(work: TreeWork, argument: SendArgument): ReplyOf<"send"> {
  const { messageId: id, from, text, data, askedBy, labels } = argument;
  const target = resolve(work, argument.to);
  const seen = seenKey(target.agentId, id);
  const before = Json.as<RunId | null>(work.object.get(seen));
  const whom = before ?? target.run;
  const cycle = askedBy && whom ? cycleOf(work, askedBy, whom) : null;
  if (cycle) return { error: new WaitCycleError({ cycle }).toJSON() };
  const envelope: Envelope = { id, from, text, data, askedBy, labels, at: work.now };
  const delivered = before ? { run: before } : deliver(work, target, envelope);
  if ("reason" in delivered) {
    deadLetter(work, { run: work.root, agent: target.agentId }, [envelope], delivered.reason);
    return { deadLetter: delivered.reason };
  }
  const { run: to } = delivered;
  if (!before) {
    work.object.set(seen, to);
    if (from.kind === "run") {
      const options = { place: `sent/${id}`, agent: from.agentId };
      work.emit(from.runId, "message.sent", { messageId: id, to }, options);
    }
  }
  if (askedBy && work.slot(to)) {
    noteAsk(work, id, askedBy, to);
    watchFor(work, askedBy, to);
  }
  return { to };
}

/** A mailbox is an agent's: what one of its runs was given, no other gets again. */
const seenKey = (agent: AgentId, message: MessageId): string => `seen/${agent}/${message}`;

interface Target {
  readonly agentId: AgentId;
  /** Null: nobody of that name lives. */
  readonly run: RunId | null;
}

/** @throws NotFoundError for a run that never was. */
function resolve(work: TreeWork, to: RunId | AgentId): Target {
  if (!RunId.is(to)) return oldest(work, AgentId.parse(to));
  const live = work.run(to);
  if (live) return { agentId: live.agentId, run: to };
  const ended = endedOf(work.object, to);
  if (!ended) throw new NotFoundError({ what: "run", id: to });
  return oldest(work, ended.agentId);
}

function oldest(work: TreeWork, agentId: AgentId): Target {
  const order = (id: RunId): number => work.slot(id)?.order ?? 0;
  const ids = keysOf(work.slots).filter((id) => work.slot(id)?.cancelled === null);
  work.load(ids);
  const runs = ids.map((id) => ({ id, agentId: work.run(id)?.agentId }));
  const found = runs.filter((run) => run.agentId === agentId).toSorted((a, b) => order(a.id) - order(b.id));
  return { agentId, run: found[0]?.id ?? null };
}

function deliver(
  work: TreeWork,
  { agentId, run }: Target,
  envelope: Envelope,
): { readonly run: RunId } | { readonly reason: string } {
  if (run) {
    work.push(run, { kind: "message", envelope });
    return { run };
  }
  if (!work.slot(work.root)) return { reason: "tree-ended" };
  const terms = work.host.agents[AgentId.type(agentId)];
  if (!terms) return { reason: "no-such-agent" };
  const woken = wakeNew(work, agentId, terms, [envelope]);
  perform(work);
  return woken;
}

/** The result of another run, now or as news. */
export function watch(work: TreeWork, { run, target }: ArgumentOf<"watch">): RunResult | null {
  const left = remains(work.object, target);
  if (left) return left;
  if (!work.run(target)) throw new RunEndedError({ run: target });
  watchFor(work, run, target);
  return null;
}

function watchFor(work: TreeWork, watcher: RunId, target: RunId): void {
  const run = work.live(target);
  const slot = work.slot(target);
  if (slot?.held || slot?.phase === "parked") work.push(watcher, { kind: "childPaused", run: target });
  if (run.supervision.parentRunId === watcher || run.watchers.includes(watcher)) return;
  work.put(target, { ...run, watchers: [...run.watchers, watcher] });
}

/** A signal from outside. One id counts once. */
export function signal(work: TreeWork, argument: ArgumentOf<"signal">): null {
  const { run, name, data, messageId, labels } = argument;
  if (isNews(work, run, messageId)) work.push(run, { kind: "signal", name, data, labels });
  return null;
}

/** Words from outside, for the work in hand or for after it. */
export function nudge(work: TreeWork, argument: ArgumentOf<"nudge">): null {
  const { run, kind, text, messageId } = argument;
  const envelope: Envelope = { id: messageId, from: { kind: "outside", name: "user" }, text, at: work.now };
  if (isNews(work, run, messageId)) work.push(run, { kind, envelope });
  return null;
}

/** @throws RunEndedError unless the run lives. False if the id was seen before. */
function isNews(work: TreeWork, run: RunId, id: string): boolean {
  work.live(run);
  const key = `seen/${run}/${id}`;
  if (work.object.get(key) !== null) return false;
  work.object.set(key, true);
  return true;
}
