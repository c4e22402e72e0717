import {
  RunId,
  AgentId,
  NotFoundError,
  RunEndedError,
  WaitCycleError,
  type BacklogFullError,
  type Envelope,
  type RunResult,
} from "#kernel";
import { takeItems } from "./inbox-methods.ts";
import type { ArgumentOf, InboxBatch, ReplyOf, SendArgument } from "../protocol.ts";
import { checkSize, maxItemBytes } from "../state/size.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { noteAsk, forgetAsk, cycleOf } from "../asks.ts";
import { giveUpAsk } from "../late-asks.ts";
import { claimContent } from "../state/content.ts";
import { deadLetter, wakeNew } from "../new-run.ts";
import { performEffects } from "../run-lifecycle.ts";
import { endedOf, readEndedResult } from "../state/ended-runs.ts";
import { addSizes, findFull } from "../state/backlogs.ts";
import type { StoredItem } from "../state/records.ts";
import { isFirst, remember, findSeen, mailName, type SeenName } from "../state/seen.ts";

/** Delivers a reply to the run that asked, if it is still alive. */
export function reply(work: TreeWork, argument: ArgumentOf<"reply">): InboxBatch {
  const { ask, to, text, data, labels } = argument;
  checkSize("a reply", { text, data }, maxItemBytes(work.object));
  forgetAsk(work, to, ask);
  work.push(to, { kind: "reply", ask, text, data, labels });
  return takeItems(work, argument);
}

/** Ends an ask whose caller no longer waits. With a timeout, only once its time is over. */
export function abandonAsk(
  work: TreeWork,
  { run, ask, timeoutMs }: ArgumentOf<"abandonAsk">,
): ReplyOf<"abandonAsk"> {
  if (timeoutMs !== undefined) return giveUpAsk(work, { ask, from: run, timeoutMs });
  forgetAsk(work, run, ask);
  return null;
}

/** Delivers a message to a run, or to an agent: its oldest live run, else a new one. The same id is delivered once. */
export function sendMessage(work: TreeWork, argument: SendArgument): ReplyOf<"send"> {
  const { messageId: id, from, text, data, files, askedBy, labels } = argument;
  checkSize("a message", { text, data, files }, maxItemBytes(work.object));
  const target = resolve(work, argument.to);
  const name = mailName(target.agentId, id);
  const known = findSeen(work, name);
  const before = known === true ? null : known;
  const whom = before ?? target.run;
  const cycle = askedBy && whom ? cycleOf(work, askedBy, whom) : null;
  if (cycle) return { error: new WaitCycleError({ cycle }).toJSON() };
  const envelope: Envelope = { id, from, text, data, files, askedBy, labels, at: work.now };
  const item = { kind: "message", envelope } as const;
  const full = !before && target.run ? findFullInbox(work, target.run, item) : null;
  if (full) return { error: full.toJSON() };
  const delivered = before ? { run: before } : deliver(work, target, envelope);
  if ("reason" in delivered) {
    deadLetter(work, { run: work.root, agent: target.agentId, reason: delivered.reason }, [envelope]);
    return { deadLetter: delivered.reason };
  }
  const { run: to } = delivered;
  if (!before) {
    claimContent(work, files);
    remember(work, name, to);
    if (from.kind === "run") {
      const options = { place: `sent/${id}`, agent: from.agentId };
      work.emit(from.runId, "message.sent", { messageId: id, to }, options);
    }
  }
  if (askedBy && work.slot(to)) {
    noteAsk(work, { id, from: askedBy, to });
    watchFor(work, askedBy, to);
  }
  return { to };
}

interface Target {
  readonly agentId: AgentId;
  /** Null: no live run of that name. */
  readonly run: RunId | null;
}

/** Finds the run that a message goes to. @throws NotFoundError for a run that never existed. */
function resolve(work: TreeWork, to: RunId | AgentId): Target {
  if (!RunId.is(to)) return findOldest(work, AgentId.parse(to));
  const live = work.run(to);
  if (live) return { agentId: live.agentId, run: to };
  const ended = endedOf(work.object, to);
  if (!ended) throw new NotFoundError({ what: "run", id: to });
  return findOldest(work, ended.agentId);
}

const findOldest = (work: TreeWork, agentId: AgentId): Target => ({ agentId, run: work.findOldest(agentId) });

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
  const sender = work.run(envelope.from.kind === "run" ? envelope.from.runId : work.root);
  if (!sender) return { reason: "sender-ended" };
  const woken = wakeNew(work, { ...terms, agentId, inheritsFrom: sender }, [envelope]);
  performEffects(work);
  return woken;
}

/** Returns the result of another run. Null while it lives: the result then arrives in the inbox. */
export function watchRun(work: TreeWork, { run, target }: ArgumentOf<"watch">): RunResult | null {
  const left = readEndedResult(work.object, target);
  if (left) return left;
  if (!work.run(target)) throw new RunEndedError({ run: target });
  watchFor(work, run, target);
  return null;
}

function watchFor(work: TreeWork, watcher: RunId, target: RunId): void {
  const run = work.live(target);
  const slot = work.slot(target);
  if (slot?.held || slot?.phase === "parked")
    work.push(watcher, { kind: "childPaused", run: target, ...(run.said && { said: run.said }) });
  if (run.supervision.parentRunId === watcher || run.watchers.includes(watcher)) return;
  work.put(target, { ...run, watchers: [...run.watchers, watcher] });
}

/** Delivers a signal from outside. One id counts once for each name. @throws RunEndedError; BacklogFullError */
export function signal(work: TreeWork, argument: ArgumentOf<"signal">): null {
  const { run, name, data, messageId, labels } = argument;
  checkSize("the data of a signal", data, maxItemBytes(work.object));
  work.live(run);
  pushSent(work, { run, name: ["signal", run, name, messageId] }, { kind: "signal", name, data, labels });
  return null;
}

/** Delivers a message from outside, for the current work or for after it. @throws RunEndedError; BacklogFullError */
export function injectMessage(work: TreeWork, argument: ArgumentOf<"injectMessage">): null {
  const { run, kind, text, data, files, labels, messageId: id } = argument;
  checkSize("a message", { text, data, files }, maxItemBytes(work.object));
  const from = { kind: "outside", name: "user" } as const;
  const envelope: Envelope = { id, from, text, data, files, labels, at: work.now };
  work.live(run);
  claimContent(work, files);
  pushSent(work, { run, name: [kind, run, id] }, { kind, envelope });
  return null;
}

/** Delivers what was sent from outside, once under its name. @throws BacklogFullError */
function pushSent(
  work: TreeWork,
  { run, name }: { readonly run: RunId; readonly name: SeenName },
  item: StoredItem,
): void {
  if (!isFirst(work, name)) return;
  const full = findFullInbox(work, run, item);
  if (full) throw full;
  work.push(run, item);
}

/** Returns why an item finds no room in the inbox of a live run. Null: there is room. */
function findFullInbox(work: TreeWork, id: RunId, item: StoredItem): BacklogFullError | null {
  const { inbox, backlog } = work.live(id);
  const { inboxMessages, inboxCharacters } = work.host.backlogs;
  const limit = { messages: inboxMessages, characters: inboxCharacters };
  return findFull(`the inbox of run ${id}`, addSizes(inbox.sent, backlog?.inbox), { added: item, limit });
}
