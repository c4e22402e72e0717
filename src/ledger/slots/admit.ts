import type { DenialReason } from "#kernel";
import { Account } from "../money/account.ts";
import type { Admission, Admit, DecisionResult } from "../command.ts";
import { isStuck } from "./deadlock.ts";
import { Draft } from "../draft.ts";
import { allot, isLate, room } from "./headcount.ts";
import { deadlineMs, newcomer } from "../open.ts";
import { findVictim, seekSlot } from "./preemption.ts";
import { exceededLimit } from "../money/reserve.ts";
import type { LedgerState, Slot } from "../state.ts";

/** Decides about a slot for a new run. A repeated request for the same run gets the same decision. */
export function admit(state: LedgerState, command: Admit): DecisionResult<Admission> {
  const { run, at } = command;
  const draft = new Draft(state, at);
  const parent = draft.slots.get(command.parent);
  if (!draft.slots.get(run)) {
    if (!parent || parent.cancelled !== null || isLate(parent, at))
      return draft.toResult(createDenial(draft, "ended"));
    const exceeded = exceededLimit(draft, command.parent);
    if (exceeded) return draft.toResult({ kind: "denied", reason: "exceeded", ...exceeded });
    const { spawn, nextOrder } = draft.tree;
    const { maxTotal = Infinity } = spawn;
    // The root has order 0.
    const spawned = nextOrder - 1;
    if (spawned >= maxTotal)
      return draft.toResult({
        kind: "denied",
        reason: "spawned",
        dimension: "agents",
        limit: maxTotal,
        used: spawned,
      });
    const refusal = findDenial(draft, command, parent);
    if (refusal !== null) return draft.toResult(createDenial(draft, refusal));
    enter(draft, command, parent);
    allot(draft, at);
    seekSlot(draft, run, at);
  }
  const { phase, victim } = draft.slots.need(run);
  return draft.toResultFor(run, phase === "pending" ? { kind: "queued", victim } : { kind: "granted" });
}

/** Returns the reason why the run may not even be queued. Null: it may. */
function findDenial(
  draft: Draft,
  { priority, onFull, detached, ...command }: Admit,
  parent: Slot,
): DenialReason | null {
  const { maxAgents } = draft.tree.spawn;
  const isHeldWithParent = parent.held && maxAgents > 1;
  if (room(draft) > 0 || isHeldWithParent) return null;
  const found = findVictim(draft, priority);
  if (found.victim !== null) return null;
  if (onFull === "deny") return found.reason;
  // The parent would wait for the new run.
  const isInVain = maxAgents === 1 || isStuck(draft, detached ? null : command.parent);
  return isInVain ? "would-deadlock" : null;
}

/** Adds a run to the queue, with its account. Every run starts there. A child of a held run is held with it. */
function enter(draft: Draft, command: Admit, parent: Slot): void {
  const budget = command.budget ?? {};
  draft.accounts.put(command.run, Account.ofRun(budget));
  draft.slots.put(command.run, {
    ...newcomer,
    parent: command.parent,
    priority: command.priority,
    order: draft.tree.nextOrder,
    phase: "pending",
    held: parent.held,
    since: command.at,
    detached: command.detached,
    allowedMs: deadlineMs(budget),
    deadline: parent.deadline,
  });
  draft.tree = { ...draft.tree, nextOrder: draft.tree.nextOrder + 1 };
}

function createDenial(draft: Draft, reason: DenialReason): Admission {
  const { maxAgents } = draft.tree.spawn;
  const used = draft.tree.headcount.holders;
  return { kind: "denied", reason, dimension: "agents", limit: maxAgents, used };
}
