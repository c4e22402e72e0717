import {
  AgentId,
  Spend,
  toLine,
  Usage,
  type AttemptId,
  type NumberedEvent,
  type RunId,
  type SpendCall,
  type SpendFigures,
  type SpendRow,
  type StepId,
  type StopReason,
  type TreeSpend,
  type UserId,
} from "#kernel";

/*
 * The roll-up of a tree's money. It is computed only from the tree's events, in order. So it is the same in any
 * process, and for any batches.
 *
 * 1. Settled money is exact: each booking of the ledger has one `budget.settled`.
 * 2. A call is in doubt once an event shows it: it was settled so, its step began again, or its run ended. The ledger
 *    may know it earlier; when the tree has ended both agree.
 * 3. A call counts in the hour in which it was reserved, as in the budgets of tenants.
 */

const noted = new Set<NumberedEvent["type"]>([
  "run.start",
  "run.end",
  "budget.reserved",
  "budget.settled",
  "budget.denied",
  "model.start",
  "model.end",
]);

/** Whether events change the roll-up of their tree. */
export const concernsSpend = (events: readonly NumberedEvent[]): boolean =>
  events.some(({ type }) => noted.has(type));

/** Returns the roll-up of a tree before its first event. */
export const noSpend = (userId: UserId | null): TreeSpend => ({
  userId,
  seq: 0,
  rolledSeq: 0,
  rows: [],
  calls: [],
});

/** Adds events to the roll-up of their tree. Events that it covers already change nothing. */
export function foldSpend(before: TreeSpend, events: readonly NumberedEvent[]): TreeSpend {
  const fold = new SpendFold(before);
  for (const event of events) if (event.seq > before.seq && noted.has(event.type)) fold.take(event);
  const seq = Math.max(before.seq, events.at(-1)?.seq ?? 0);
  return { ...before, seq, rows: [...fold.rows.values()], calls: [...fold.calls.values()] };
}

/** Returns the model name in a form that databases accept: they limit the length of indexed values. */
const toModelName = (model: string): string => toLine(model).slice(0, 200);

const isStopped = (reason: StopReason): boolean => reason.startsWith("budget.") || reason === "deadline";

class SpendFold {
  readonly rows: Map<string, SpendRow>;
  readonly calls: Map<AttemptId, SpendCall>;

  constructor({ rows, calls }: TreeSpend) {
    this.rows = new Map(rows.map((row) => [toSpendKey(row), row]));
    this.calls = new Map(calls.map((call) => [call.attempt, call]));
  }

  take(event: NumberedEvent): void {
    const { attempt, at } = event;
    const agentType = AgentId.type(event.agent);
    const ofRun = { at, agentType, model: "" };
    if (event.type === "run.start") this.#add(ofRun, { runs: 1 });
    if (event.type === "budget.denied") this.#add(ofRun, { denied: 1 });
    if (event.type === "model.start") this.#start(attempt, event.step, toModelName(event.model));
    if (event.type === "budget.settled") this.#settle(event, ofRun);
    if (event.type === "model.end") this.#addTokens(event);
    if (event.type === "run.end") {
      if (isStopped(event.stopReason)) this.#add(ofRun, { stopped: 1 });
      this.#endRun(event.runId);
    }
    if (event.type !== "budget.reserved" || attempt === null) return;
    const { runId, tokens, costMicros } = event;
    this.calls.set(attempt, { attempt, runId, stepId: null, ...ofRun, tokens, costMicros, state: "open" });
  }

  #start(attempt: AttemptId | null, step: StepId, model: string): void {
    const call = attempt && this.calls.get(attempt);
    if (!call) return;
    // The same step begins again: the earlier attempt was lost.
    for (const other of this.calls.values()) if (other.stepId === step) this.#lose(other);
    const started = { ...call, stepId: step, model };
    this.calls.set(call.attempt, started);
    this.#add(started, { calls: 1 });
  }

  #settle(
    event: NumberedEvent<"budget.settled">,
    ofRun: Pick<SpendCall, "at" | "agentType" | "model">,
  ): void {
    const { attempt, costMicros, inDoubt } = event;
    const call = attempt ? this.calls.get(attempt) : undefined;
    if (inDoubt) {
      if (call) this.#lose(call);
      return;
    }
    this.#add(call ?? ofRun, { settledMicros: costMicros });
    if (!call) return;
    if (call.state === "in-doubt") {
      this.#add(call, { inDoubtMicros: -call.costMicros });
      this.calls.delete(call.attempt);
    } else this.calls.set(call.attempt, { ...call, state: "settled" });
  }

  #addTokens(event: NumberedEvent<"model.end">): void {
    const { attempt, usage, durationMs, at, model } = event;
    const call = attempt ? this.calls.get(attempt) : undefined;
    // The usage of a call that was settled in doubt is not credible.
    if (call?.state === "in-doubt" || !Usage.isSane(usage)) return;
    const place = call ?? {
      at: at - durationMs,
      agentType: AgentId.type(event.agent),
      model: toModelName(model),
    };
    const { input: inputTokens, output: outputTokens, cachedInput: cachedTokens = 0 } = usage;
    this.#add(place, { inputTokens, outputTokens, cachedTokens });
    if (call?.state === "settled") this.calls.delete(call.attempt);
  }

  #lose(call: SpendCall): void {
    if (call.state !== "open") return;
    this.calls.set(call.attempt, { ...call, state: "in-doubt" });
    this.#add(call, { inDoubtMicros: call.costMicros });
  }

  #endRun(run: RunId): void {
    for (const call of this.calls.values()) {
      if (call.runId !== run) continue;
      if (call.state === "settled") this.calls.delete(call.attempt);
      else this.#lose(call);
    }
  }

  #add(
    { at, agentType, model }: Pick<SpendCall, "at" | "agentType" | "model">,
    figures: Partial<SpendFigures>,
  ): void {
    const place = { hour: Spend.hourOf(at), agentType, model };
    const key = toSpendKey(place);
    const before = this.rows.get(key) ?? Spend.none;
    const row = { ...before, ...place };
    for (const name of Spend.figureNames) row[name] += figures[name] ?? 0;
    this.rows.set(key, row);
  }
}

const toSpendKey = ({ hour, agentType, model }: Pick<SpendRow, "hour" | "agentType" | "model">): string =>
  `${hour} ${agentType} ${model}`;
