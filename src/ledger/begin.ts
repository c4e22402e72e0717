import type { AttemptId, StepId } from "#kernel";
import { Account, type Attempt, type OpenStep } from "./account.ts";
import { Amounts } from "./amounts.ts";
import { book } from "./book.ts";
import type { Ask, Begin, Decided, Gate } from "./command.ts";
import { Draft } from "./draft.ts";
import { hold } from "./hold.ts";
import { path } from "./lineage.ts";
import { lose } from "./lose.ts";
import { reservation } from "./reserve.ts";
import type { LedgerState } from "./state.ts";

const mostLost = 3;

/** The gate. Nothing begins that is not granted here. Asking again for an open attempt gives the same grant. */
export function begin(state: LedgerState, command: Begin): Decided<Gate> {
  const draft = new Draft(state);
  const gate = refuse(draft, command) ?? enter(draft, command);
  // Asked again once the tenant has lent: until then nothing has happened.
  return gate.kind === "needs-block" ? { state, decision: gate, effects: [] } : draft.decided(gate);
}

/** Whatever the budget says: may this execution of this run begin anything? */
function refuse(draft: Draft, { run, epoch, at }: Begin): Gate | null {
  const slot = draft.slots.get(run);
  if (!slot) return refused("ended");
  if (slot.cancelled !== null) return refused("cancelled", slot.cancelled);
  if (slot.deadline !== null && at > slot.deadline) return refused("deadline");
  if (epoch < slot.epoch) return refused("superseded");
  draft.slots.patch(run, { epoch });
  const isAtWork = slot.phase === "running" || slot.phase === "waiting";
  return isAtWork && !slot.held ? null : refused("paused");
}

function enter(draft: Draft, command: Begin): Gate {
  const { run, step, attempt, ask, at } = command;
  draft.slots.patch(run, { phase: "running", waitsOn: null });
  const { attempts } = draft.accounts.need(run);
  const same = attempts.find(({ id }) => id === attempt);
  if (same) return granted(draft, command, same);
  const earlier = attempts.find((other) => other.step === step);
  if (earlier) {
    const { id, kind } = earlier;
    const mayFollow = command.rerun === true || command.rerun === id;
    if (kind === "tool" && !mayFollow) return { kind: "earlier-attempt-open", attempt: id };
    if (loseAgain(draft, command, id) >= mostLost) {
      forgive(draft, command);
      hold(draft, run, at);
      return refused("paused", `${mostLost} attempts of ${step} were lost`);
    }
  }
  return ask === null ? openAttempt(draft, command, tool(command)) : openModel(draft, command, ask);
}

function openModel(draft: Draft, command: Begin, ask: Ask): Gate {
  const { run, step, at } = command;
  const fit = reservation(draft, command, ask);
  if (fit.kind !== "fits") return fit;
  const { ceiling, outputTokens } = fit;
  const { turns, steps } = draft.accounts.need(run);
  // A lost call that is asked again is the same call.
  if (!steps.some((open) => open.step === step)) draft.accounts.patch(run, { turns: turns + 1 });
  book(draft, path(draft.slots.rows, run), Account.reserve(ceiling));
  return openAttempt(draft, command, {
    id: command.attempt,
    step,
    kind: "model",
    ceiling,
    price: ask.price,
    outputTokens,
    shrunk: fit.shrunk,
    openedAt: at,
  });
}

function tool({ step, attempt: id, at }: Begin): Attempt {
  const nothing = { ceiling: Amounts.none, price: null, outputTokens: 0, shrunk: null };
  return { id, step, kind: "tool", ...nothing, openedAt: at };
}

function openAttempt(draft: Draft, command: Begin, opened: Attempt): Gate {
  const { run, step } = command;
  const { attempts, steps } = draft.accounts.need(run);
  const counted = count(steps, step, ({ begun }) => ({ begun: begun + 1 }));
  draft.accounts.patch(run, { attempts: [...attempts, opened], steps: counted });
  return granted(draft, command, opened);
}

/** Closes a lost attempt and says how many of its step were lost so far. */
function loseAgain(draft: Draft, { run, step }: Begin, attempt: AttemptId): number {
  lose(draft, run, attempt);
  const steps = count(draft.accounts.need(run).steps, step, ({ lost }) => ({ lost: lost + 1 }));
  draft.accounts.patch(run, { steps });
  return steps.find((open) => open.step === step)?.lost ?? 0;
}

/** Whoever resumes the run wants the step tried again. */
function forgive(draft: Draft, { run, step }: Begin): void {
  const steps = count(draft.accounts.need(run).steps, step, () => ({ lost: 0 }));
  draft.accounts.patch(run, { steps });
}

/** Changes the figures of one step, which is open from now on. */
function count(
  steps: readonly OpenStep[],
  step: StepId,
  change: (open: OpenStep) => Partial<OpenStep>,
): readonly OpenStep[] {
  const index = steps.findIndex((open) => open.step === step);
  const open = steps[index] ?? { step, begun: 0, lost: 0 };
  const changed = { ...open, ...change(open) };
  return index === -1 ? [...steps, changed] : steps.with(index, changed);
}

function granted(draft: Draft, { run }: Begin, { step, ceiling, outputTokens, shrunk }: Attempt): Gate {
  const attempts = draft.accounts.need(run).steps.find((open) => open.step === step)?.begun ?? 1;
  return { kind: "granted", outputTokens, ceiling, shrunk, attempts };
}

function refused(
  why: Extract<Gate, { readonly kind: "refused" }>["why"],
  reason: string | null = null,
): Gate {
  return { kind: "refused", why, reason };
}
