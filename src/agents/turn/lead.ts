// A turn that an architecture leads.
//
// Job: create the state and the dependencies of an architecture, drive its generator, publish what it yields, and
// convert its ends to outcomes of a turn. Neighbours: turn.ts calls it once the input is taken; delegate.ts and
// think.ts are the dependencies; the architectures themselves know neither the loop nor its state.
//
// Invariants:
// 1. `state.output` is not lost: it is the output of a run that is out of money, out of rounds or cancelled.
// 2. An account above the leader that is used up ends the leader. A worker's own limits do not.
// 3. Nothing is recorded or appended after a cancel, because every call of `ctx` throws then.
import {
  BudgetExhaustedError,
  CancellationError,
  ChatMessage,
  Ended,
  Json,
  OutputError,
  StrategyError,
  Usage,
  type Architecture,
  type StrategyDeps,
  type StrategyState,
} from "#kernel";
import { valueText } from "#base";
import { missingModel } from "../missing-model.ts";
import { partialAnswer, settleAnswer, type Answer as Settled } from "./answer.ts";
import { delegate } from "./delegate.ts";
import { appendMessage } from "./say.ts";
import { think } from "./think.ts";
import type { Lead, TurnOutcome, TurnState } from "./turn-state.ts";

/** Runs the ordinary loop from here on, until the model has an answer. */
type Proceed = (state: TurnState) => Promise<TurnOutcome>;

/** Runs the architecture for the turn that begins with `prompt`. */
export async function leadTurn(
  turn: TurnState,
  { lead, prompt, proceed }: { readonly lead: Lead; readonly prompt: string; readonly proceed: Proceed },
): Promise<TurnOutcome> {
  const state = createState(turn, lead, prompt);
  const ask: StrategyTurn["delegate"] = (worker, task, options) => delegate(turn.ctx, worker, task, options);
  const led: StrategyTurn = { lead, state, proceed, delegate: ask, settled: { answer: null } };
  try {
    await drive(lead.architecture, state, createDeps(turn, led), prompt);
  } catch (error) {
    return endStrategy(turn, state, error);
  }
  if (!state.interrupted) return settleStrategy(turn, led);
  return land(turn, state, { stopReason: "exhausted", error: undefined });
}

/** The end of a turn inside the ordinary loop. The architecture must not continue after it. */
class TurnEndError extends Error {
  readonly outcome: TurnOutcome;

  constructor(outcome: TurnOutcome) {
    super("the turn has ended");
    this.outcome = outcome;
  }
}

/** Runs the generator. Publishes what it yields to the tree's progress topic. */
async function drive(
  architecture: Architecture,
  state: StrategyState,
  deps: StrategyDeps,
  prompt: string,
): Promise<void> {
  for await (const data of architecture.run(state, deps, prompt))
    await deps.ctx.emit({ architecture: architecture.name, data });
}

function createState({ ctx }: TurnState, { instructions }: Lead, prompt: string): StrategyState {
  return {
    id: ctx.supervision.runId,
    instructions,
    messages: [ChatMessage.user(prompt)],
    turns: 0,
    output: null,
    cumulativeUsage: Usage.none,
    interrupted: false,
    interruptionReason: null,
    metadata: {},
  };
}

/** The state of an architecture, with the data that its dependencies use. */
interface StrategyTurn {
  readonly lead: Lead;
  readonly state: StrategyState;
  readonly proceed: Proceed;
  readonly delegate: StrategyDeps["delegate"];
  /** The last answer of the ordinary loop, which has checked it. */
  readonly settled: { answer: Settled | null };
}

function createDeps(turn: TurnState, led: StrategyTurn): StrategyDeps {
  const { ctx, model, tools, request, maxOutputTokens } = turn;
  const { lead, state } = led;
  const { name, instructions, maxTurns } = lead;
  const onUsage = (usage: Usage): void => {
    state.cumulativeUsage = Usage.add(state.cumulativeUsage, usage);
  };
  return {
    ctx,
    model: model === missingModel ? null : model,
    tools,
    scope: ctx.meta.scope ?? null,
    maxTurns,
    delegate: led.delegate,
    think: async <Answer>(
      prompt: string,
      options?: Parameters<StrategyDeps["think"]>[1],
    ): Promise<Answer> => {
      requireModel(turn, lead);
      state.turns += 1;
      const thinker = { ctx, name, model, instructions, request, maxOutputTokens, onUsage };
      return Json.as<Answer>(await think(thinker, prompt, options));
    },
    react: (prompt) => {
      requireModel(turn, lead);
      state.turns += 1;
      return react(turn, prompt, led);
    },
    inline: async (architecture, prompt, { input, delegate: ask } = {}) => {
      const nested = createState(turn, lead, prompt);
      if (input !== undefined) nested.metadata = { input };
      const means = createDeps(turn, { ...led, state: nested, delegate: ask ?? led.delegate });
      try {
        await drive(architecture, nested, means, prompt);
      } finally {
        // The best inner answer is better than none.
        state.output ??= nested.output;
      }
      if (nested.interrupted) {
        state.interrupted = true;
        state.interruptionReason = nested.interruptionReason;
      }
      return nested.output;
    },
    freshSession: (prompt) => createState(turn, lead, prompt),
  };
}

/** Checks that there is a model. @throws StrategyError */
function requireModel({ model }: TurnState, { architecture, name }: Lead): void {
  if (model !== missingModel) return;
  throw new StrategyError({
    problem: `agent ${name} has no model, and its architecture ${architecture.name} needs one: agent({ model })`,
  });
}

/** Runs the ordinary loop until its answer. @throws TurnEndError if the run ends in it. */
async function react(turn: TurnState, prompt: string, { proceed, settled }: StrategyTurn): Promise<string> {
  const last = turn.messages.findLast(({ content }) => content.length > 0);
  const isHeard = last?.role === "user" && ChatMessage.text(last) === prompt;
  if (!isHeard) appendMessage(turn, ChatMessage.user(prompt));
  const outcome = await proceed(turn);
  if (outcome.kind === "answer") {
    settled.answer = outcome;
    return valueText(outcome.value);
  }
  if (outcome.kind !== "unfinished") throw new TurnEndError(outcome);
  throw new TypeError("a turn run by an architecture cannot continue in a fresh execution");
}

/** Converts an error to the end of the turn. @throws errors that end the run, or mistakes in the program. */
async function endStrategy(turn: TurnState, state: StrategyState, error: unknown): Promise<TurnOutcome> {
  if (error instanceof TurnEndError) return error.outcome;
  if (error instanceof CancellationError) {
    // The run's output is built from its messages. Nothing can be appended to the conversation any more.
    if (state.output !== null) turn.messages.push(ChatMessage.assistant(valueText(state.output)));
    throw error;
  }
  if (error instanceof BudgetExhaustedError && state.output !== null)
    return land(turn, state, { stopReason: `budget.${error.dimension}`, error: error.toJSON() });
  if (error instanceof StrategyError || error instanceof OutputError)
    return Ended.of({ status: "failed", stopReason: "error", output: null, error: error.toJSON() });
  throw error;
}

/** Ends the run with the best answer so far, if it may be its output. */
async function land(
  turn: TurnState,
  { output, interruptionReason }: StrategyState,
  { stopReason, error }: Pick<Ended, "stopReason" | "error">,
): Promise<Ended> {
  const answer = output === null ? null : await partialAnswer(turn, [valueText(output)]);
  if (answer)
    return Ended.of({
      status: "landed",
      stopReason,
      output: turn.output ? answer.value : output,
      ...(error && { error }),
    });
  const problem = `there is no answer yet${interruptionReason === null ? "" : `: ${interruptionReason}`}`;
  const failure = error ?? new StrategyError({ problem }).toJSON();
  return Ended.of({ status: "failed", stopReason, output: null, error: failure });
}

/** Checks the answer. If it is sent back, the leader's model answers again, in its ordinary loop. */
async function settleStrategy(
  turn: TurnState,
  { state: { output }, proceed, settled: known }: StrategyTurn,
): Promise<TurnOutcome> {
  const text = valueText(output);
  if (known.answer && valueText(known.answer.value) === text) return known.answer;
  const settled = await settleAnswer(turn, text);
  if (settled === null) return turn.model === missingModel ? endRefused(text) : proceed(turn);
  return isSameAnswer(settled, text) && !turn.output ? { kind: "answer", value: output } : settled;
}

const isSameAnswer = (settled: Settled | Ended, text: string): settled is Settled =>
  settled.kind === "answer" && settled.value === text;

function endRefused(text: string): Ended {
  const message = "the answer was rejected, and the agent has no model to answer again";
  const error = new OutputError({ message, answer: text.slice(0, 2_000) }).toJSON();
  return Ended.of({ status: "failed", stopReason: "error", output: null, error });
}
