// A turn of an agent that may hand the conversation over.
//
// Job: begin the turn with the agent that has the conversation, and pass it on when a model hands off. Neighbours:
// agent.ts calls it for every turn; turn.ts is the turn of one agent; pass-control.ts runs the agents that take over.
//
// Invariants:
// 1. One run has the turn and passes control: the first one. A run that took over ends with a pass as its output.
// 2. The answer of another agent is checked against the schema and the guardrails of the run that has the turn.
// 3. The agent that has the conversation is stored after its answer is final, so a failed turn changes nothing.
import {
  AgentId,
  BudgetExhaustedError,
  type ChatMessage,
  Ended,
  StrategyError,
  type Envelope,
  type AgentSpec,
  type Json,
} from "#kernel";
import { valueText } from "#base";
import { handoffTargets, isAgent } from "../program-agents.ts";
import { repairPrompt } from "../session/strategies.ts";
import { partialAnswer, settleAnswer } from "../turn/answer.ts";
import { land } from "../turn/landing.ts";
import { beginTurn, leadOrProceed, proceed } from "../turn/turn.ts";
import type { HandoffOutcome, TurnOutcome, TurnState } from "../turn/turn-state.ts";
import { activeAgent } from "./active-agent.ts";
import { withoutHandoffs, type HandoffEntry } from "./handoff.ts";
import { defaultMaxHandoffs, passControl, type Control, type ControlLimits } from "./pass-control.ts";
import { Pass } from "./pass.ts";

/** The handoffs of an agent. */
export interface HandoffPlan {
  readonly name: string;
  readonly entries: readonly HandoffEntry[];
  readonly maxHandoffs: number;
}

/** Returns the handoffs of an agent, from its options. */
export function planHandoffs(options: {
  readonly name: string;
  readonly handoffs?: readonly HandoffEntry[] | undefined;
  readonly maxHandoffs?: number | undefined;
}): HandoffPlan {
  const { name, handoffs = [], maxHandoffs = defaultMaxHandoffs } = options;
  return { name, entries: handoffs, maxHandoffs };
}

/** A turn to take. */
interface TurnInput {
  readonly input: readonly Envelope[];
  /** Whether the turn began in an earlier execution. */
  readonly isResumed: boolean;
}

/** Takes a turn: alone, or by passing the conversation on. */
export async function takeTurn(
  state: TurnState,
  plan: HandoffPlan,
  { input, isResumed }: TurnInput,
): Promise<TurnOutcome> {
  const taken = Pass.fromInput(input);
  const begun = isResumed ? null : await beginTurn(state, input, taken);
  if (begun) return begun;
  const isKept = plan.entries.length > 0 && state.ctx.session.goesOn();
  const stored = isKept && !isResumed ? await activeAgent.read(state.ctx) : "";
  const active = findActive(plan, stored);
  const limits = { path: active === null ? [plan.name] : [], maxHandoffs: plan.maxHandoffs };
  const turn: OwnTurn = { state, plan, limits, isKept, stored };
  const first = active === null ? await (isResumed ? proceed(state) : leadOrProceed(state)) : null;
  if (first === null || first.kind !== "handoff")
    return first ? checkOutcome(first) : beginHandoffTurn(turn, active ?? "");
  const pass = await createPass(state, plan, first);
  if (taken) return { kind: "answer", value: Pass.toOutput(pass) };
  return followHandoffs(turn, pass);
}

/** A turn of the run that passes control. */
interface OwnTurn {
  readonly state: TurnState;
  readonly plan: HandoffPlan;
  readonly limits: ControlLimits;
  /** Whether the agent that has the conversation is stored, because there may be a next turn. */
  readonly isKept: boolean;
  /** The stored name. Empty: none. */
  readonly stored: string;
}

/** Checks that an answer of a model does not look like a handoff. */
function checkOutcome(outcome: TurnOutcome): TurnOutcome {
  if (outcome.kind !== "answer" || !Pass.isReserved(outcome.value)) return outcome;
  const error = new StrategyError({ problem: "the answer has the reserved key ~handoff" }).toJSON();
  return Ended.of({ status: "failed", stopReason: "error", output: null, error });
}

/** Returns the name of the agent that has the conversation, if this agent can reach it. Null: this agent has it. */
function findActive({ name, entries }: HandoffPlan, stored: string): string | null {
  if (stored === "" || stored === name) return null;
  const seen = new Set<string>();
  const reaches = (targets: readonly AgentSpec[]): boolean =>
    targets.some((target) => {
      const type = AgentId.type(target.id);
      if (type === stored) return true;
      if (seen.has(type)) return false;
      seen.add(type);
      return isAgent(target) && reaches(handoffTargets(target));
    });
  return reaches(handoffTargets({ handoffs: entries })) ? stored : null;
}

/** Begins the turn with the agent that has had the conversation since an earlier turn. */
async function beginHandoffTurn(turn: OwnTurn, to: string): Promise<TurnOutcome> {
  const { state } = turn;
  const said = withoutSystem(state.messages);
  const messages = await state.ctx.session.read((before) =>
    repairPrompt(withoutHandoffs([...before, ...said])),
  );
  return followHandoffs(turn, { to, messages, note: "", best: "" });
}

/** Creates the pass of a handoff. The messages for the next agent are chosen in a step. */
async function createPass(
  { ctx, messages }: TurnState,
  { name: from }: HandoffPlan,
  { handoff, input, said }: HandoffOutcome,
): Promise<Pass> {
  const { filter = (all) => all, agent } = handoff;
  const to = AgentId.type(agent.id);
  const own = withoutSystem(messages);
  const shown = await ctx.session.read((before) =>
    repairPrompt(filter(withoutHandoffs([...before, ...own]))),
  );
  if (handoff.onHandoff) await ctx.step("handoff", () => handoff.onHandoff?.(input, { from, to }), { input });
  const stated = statedText(input);
  const note = `${from} hands the conversation over to you: ${stated}`;
  return { to, messages: shown, note, best: said === "" ? stated : said };
}

const withoutSystem = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.filter(({ role }) => role !== "system");

/** Returns the text of a handoff: the message, else the model's input as JSON. */
function statedText(input: Json): string {
  const isMessage =
    typeof input === "object" && input !== null && "message" in input && Object.keys(input).length === 1;
  return valueText(isMessage && "message" in input ? input["message"] : input);
}

/** Passes control until an agent answers. If the answer is sent back, this agent's model answers again. */
async function followHandoffs(turn: OwnTurn, first: Pass): Promise<TurnOutcome> {
  const { state, plan, limits } = turn;
  for (let pass = first; ;) {
    const outcome = await followOnce(turn, await control(turn, pass));
    if (outcome !== null) return outcome;
    const again = await proceed(state);
    if (again.kind !== "handoff") return checkOutcome(again);
    limits.path.push(plan.name);
    pass = await createPass(state, plan, again);
  }
}

/** Passes control once. An error that ends the turn becomes its outcome. */
async function control({ state, limits }: OwnTurn, pass: Pass): Promise<Control | Ended> {
  try {
    return await passControl(state.ctx, pass, limits);
  } catch (error) {
    if (error instanceof BudgetExhaustedError) return land(state, error);
    if (!(error instanceof StrategyError)) throw error;
    return Ended.of({ status: "failed", stopReason: "error", output: null, error: error.toJSON() });
  }
}

/** Converts the end of the chain to the outcome of the turn. Null: the answer is sent back. */
async function followOnce(turn: OwnTurn, end: Control | Ended): Promise<TurnOutcome | null> {
  const { state } = turn;
  if (end.kind === "ended") return end;
  if (end.kind === "exhausted")
    return landTurn(state, { output: end.best, stopReason: "exhausted", reason: end.reason });
  const { output, by, result } = end;
  if (result.status === "landed") {
    const { stopReason, error } = result;
    const outcome = await landTurn(state, { output, stopReason, ...(error && { error }) });
    if (outcome.status === "landed") await writeActive(turn, by);
    return outcome;
  }
  const settled = await settleAnswer(state, valueText(output));
  if (settled?.kind !== "answer") return settled;
  await writeActive(turn, by);
  const isAsGiven = !state.output && settled.value === valueText(output);
  return isAsGiven ? { kind: "answer", value: output } : settled;
}

async function writeActive({ state, plan, isKept, stored }: OwnTurn, name: string): Promise<void> {
  const active = name === plan.name ? "" : name;
  if (isKept && active !== stored) await activeAgent.write(state.ctx, active);
}

/** Ends the run with the best answer, if it may be its output. */
async function landTurn(
  state: TurnState,
  {
    output,
    stopReason,
    error,
    reason,
  }: Pick<Ended, "output" | "stopReason" | "error"> & { readonly reason?: string },
): Promise<Ended> {
  const answer = await partialAnswer(state, [valueText(output)]);
  if (answer)
    return Ended.of({
      status: "landed",
      stopReason,
      output: state.output ? answer.value : output,
      ...(error && { error }),
    });
  const problem = reason ?? "the answer of the agent that took over does not match the output schema";
  return Ended.of({
    status: "failed",
    stopReason,
    output: null,
    error: error ?? new StrategyError({ problem }).toJSON(),
  });
}
