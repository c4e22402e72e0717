// A compaction: one step that summarizes the oldest part of a conversation, and writes the summary as an entry.
//
// Job: choose the cut, call the summarizer, append the entry. Neighbours: agents/session finds the cut and writes the
// summary; run-session knows the entry's position and continues below it; gated-step charges the calls.
//
// Invariants:
// 1. The conversation is read and written only inside the step. Everything after it follows from the record.
// 2. The id of the entry is derived from the entry above it, so a repeated compaction writes the same entry.
// 3. A compaction that is refused or fails changes nothing. Its calls are charged to the run, but do not count as
//    turns.
import {
  EntryId,
  Labels,
  NotFoundError,
  ReeveError,
  type ChatMessage,
  type Compaction,
  type CompactionRequest,
  type RunId,
} from "#kernel";
import {
  findCut,
  readCut,
  summarise,
  summaryMessage,
  type Cut,
  type CutItem,
  type CutOptions,
  type Session,
  type SummaryOptions,
} from "#agents";
import { estimateTokens } from "#models";
import type { CompactionOrder } from "#tree";
import { compactionSizes, type CompactionSizes } from "./context-limits.ts";
import { GatedStep, toStepScope, type StepExecution } from "./gated-step.ts";
import { interceptCompaction } from "./interceptions.ts";
import type { RunServices } from "./run-services.ts";
import { untilReached } from "./until-reached.ts";

/** The record of a compaction. */
type CompactionResult =
  | {
      readonly kind: "compacted";
      readonly entryId: EntryId | null;
      readonly summary: string;
      /** The number of given messages that were summarized. Absent: all are part of the conversation. */
      readonly count?: number | undefined;
      /** The labels of a conversation that was summarized with them. Absent: none. */
      readonly brings?: Labels | undefined;
    }
  | { readonly kind: "unchanged" };

const unchanged = { kind: "unchanged" } as const;

/** A compaction to make. */
interface Order extends Pick<CutOptions, "between"> {
  readonly messages: readonly ChatMessage[];
  /** Instructions added to the agent's own. */
  readonly instructions?: string | undefined;
}

/** Compacts the conversation if agent code requests it. Null: nothing has changed. */
export async function runCompaction(
  services: RunServices,
  { cause, messages }: CompactionRequest,
): Promise<Compaction | null> {
  const { policy, state } = services;
  const { session } = state;
  if (session.isCopy) return null;
  const isAsked = session.takeRequest();
  if (policy.agent.compaction === false && !isAsked) return null;
  if (cause === "overflow") return compact(services, { messages, between: "cycles" });
  if (!session.goesOn || !(isAsked || session.isDue) || policy.agent.history) return null;
  return compact(services, { messages, between: isAsked ? "asked" : "turns" });
}

/** Makes the compaction that a user has requested. Returns its entry. Null: nothing has changed. */
export async function obeyOrder(
  services: RunServices,
  { instructions }: CompactionOrder,
): Promise<EntryId | null> {
  const { engine, policy, state } = services;
  if (!state.session.isKept || policy.agent.history) return null;
  const more = instructions === null ? {} : { instructions };
  const made = await compact(services, { messages: [], between: "asked", ...more });
  const leaf = made?.entryId ?? null;
  if (leaf !== null) engine.driver.outbox.event("turn.saved", engine.driver.time, null, { leaf });
  return leaf;
}

/** Makes a compaction. @throws CancellationError when the run is cancelled. */
async function compact(services: RunServices, order: Order): Promise<Compaction | null> {
  const { engine, policy, state } = services;
  const { session } = state;
  const { outbox } = engine.driver;
  const isStored = session.isKept && !policy.agent.history;
  const { contextTokens } = session;
  outbox.event("compaction.start", engine.driver.time, null, { contextTokens });
  const step = new GatedStep(services, { kind: "compaction", subject: order.between, of: "compaction" });
  let entryId: EntryId | null = null;
  try {
    const record = await step.run<CompactionResult>((execution) =>
      closure(services, execution, { ...order, isStored }),
    );
    if (record.kind === "unchanged") return null;
    const { summary, count = 0, brings } = record;
    ({ entryId } = record);
    if (entryId !== null) {
      session.noteCompacted(entryId);
      return { entryId, summary, messages: [] };
    }
    state.labels.join(brings, "input", "conversation");
    session.skipHistory();
    return { entryId, summary, messages: [summaryMessage(summary), ...order.messages.slice(count)] };
  } finally {
    outbox.event("compaction.end", engine.driver.time, null, { contextTokens, entryId });
  }
}

/** Makes a compaction inside its step. Null: the step must end. */
async function closure(
  services: RunServices,
  execution: StepExecution,
  order: Order & { readonly isStored: boolean },
): Promise<CompactionResult | null> {
  const { calls } = execution;
  const make = order.isStored ? compactStored : compactList;
  try {
    const made = await make(services, execution, order);
    return calls.mustStop() && made.kind === "unchanged" ? null : made;
  } catch (error) {
    if (calls.mustStop()) return null;
    if (!ReeveError.is(error)) services.engine.report("compaction", error);
    return unchanged;
  }
}

/** Summarizes the stored conversation. */
async function compactStored(
  services: RunServices,
  execution: StepExecution,
  { between, instructions }: Order,
): Promise<CompactionResult> {
  const { engine, identity, state } = services;
  const place = await untilReached(execution.calls, () => state.session.compactionPlace());
  if (!place) return unchanged;
  const { session, at, branch } = place;
  const { runId } = identity.scope;
  // The run may have written its summary before it was killed. Then there is nothing left to summarize.
  const own = state.session.order && (await findEntry(session, at, { branch, at, by: runId }));
  const id = EntryId.compactionOf(at);
  const made = own ?? (await findEntry(session, id, { branch, at }));
  if (made) return made;
  const writer = writerOf(services, instructions);
  const cut = await readCut(session, at, { keepRecent: writer.keepRecent, between });
  if (!cut) return unchanged;
  const { previous, keptFrom, labels } = cut;
  const summary = await writeSummary(services, execution, { cut, previous, writer });
  if (summary === null) return unchanged;
  const entry = {
    id,
    parentId: at,
    branch,
    at: engine.clock.now(),
    type: "compaction",
    summary,
    keptFrom,
    tokensBefore: state.session.contextTokens || cut.tokens,
    run: runId,
    ...(!Labels.isNone(labels) && { labels }),
  } as const;
  // A superseded worker may be late: the conversation has continued without it.
  const fence = { follows: at, turn: runId };
  const isWritten = await session.store.append(session.partition, session.key, [entry], fence);
  return isWritten ? { kind: "compacted", entryId: id, summary } : unchanged;
}

/** Finds the entry that a lost execution has written, and makes it the end of the conversation if that is still `at`. */
async function findEntry(
  session: Session,
  id: EntryId,
  { branch, at, by }: { readonly branch: RunId | null; readonly at: EntryId; readonly by?: RunId },
): Promise<CompactionResult | null> {
  for await (const entry of session.path(id)) {
    if (entry.type !== "compaction" || (by !== undefined && entry.run !== by)) return null;
    const { store, partition, key } = session;
    if (!(await store.moveLeaf(partition, key, { branch, leaf: id, from: at }))) return unchanged;
    return { kind: "compacted", entryId: id, summary: entry.summary };
  }
  return null;
}

/** Summarizes the messages that the run has in memory, and the conversation before them. */
async function compactList(
  services: RunServices,
  execution: StepExecution,
  { messages, between, instructions }: Order,
): Promise<CompactionResult> {
  const { session } = services.state;
  const history = session.readsHistory
    ? await untilReached(execution.calls, () => session.history({}))
    : null;
  const shown = [...(history?.messages ?? []), ...messages];
  const from = shown.length - messages.length;
  const items = shown.map((message): CutItem => {
    return { message, tokens: estimateTokens([message]), id: null, mayLead: true };
  });
  const writer = writerOf(services, instructions);
  const cut = findCut(items, { keepRecent: writer.keepRecent, between, from });
  if (!cut) return unchanged;
  const summary = await writeSummary(services, execution, { cut, previous: null, writer });
  if (summary === null) return unchanged;
  const labels = history && !Labels.isNone(history.labels) ? { brings: history.labels } : {};
  return { kind: "compacted", entryId: null, summary, count: cut.at - from, ...labels };
}

/** A summary to write. */
interface PlannedSummary {
  readonly cut: Cut;
  readonly previous: string | null;
  readonly writer: SummaryOptions;
}

/** Obtains a summary from an extension or the summarizer. Null: an extension cancels the compaction. */
async function writeSummary(
  services: RunServices,
  execution: StepExecution,
  { cut, previous, writer }: PlannedSummary,
): Promise<string | null> {
  const plan = { messages: [...cut.turns, ...cut.part], cut: cut.at, previous };
  const decision = await interceptCompaction(services, execution, plan);
  if (decision) return "summary" in decision ? decision.summary : null;
  const scope = toStepScope(services, execution, writer.model);
  return summarise(cut, previous, { ...writer, scope });
}

/** Tokens of a summary, as a fraction of the reserve, and the minimum. */
const summaryShare = 0.8;
const minSummaryTokens = 256;

function writerOf(
  { policy }: RunServices,
  instructions: string | undefined,
): SummaryOptions & Pick<CompactionSizes, "keepRecent"> {
  const own = policy.agent.compaction || {};
  const model = own.model ?? policy.model;
  if (!model) throw new NotFoundError({ what: "model", id: "for this agent" });
  const { reserve, keepRecent } = compactionSizes(own, policy.model?.contextWindow);
  const size = Math.max(minSummaryTokens, Math.floor(reserve * summaryShare));
  const told = [own.instructions, instructions].filter((part) => part !== undefined && part !== "");
  return {
    model,
    keepRecent,
    instructions: told.length === 0 ? undefined : told.join("\n\n"),
    maxOutputTokens: Math.min(size, model.maxOutputTokens ?? size),
  };
}
