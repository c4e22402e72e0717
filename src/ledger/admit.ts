import type { DenialReason } from "#kernel";
import { Account } from "./account.ts";
import type { Admission, Admit, Decided } from "./command.ts";
import { isStuck } from "./deadlock.ts";
import { Draft } from "./draft.ts";
import { grant, headcount, holds, room } from "./headcount.ts";
import { deadlineMs, newcomer } from "./open.ts";
import { findVictim, preempt } from "./preemption.ts";
import type { LedgerState, Slot } from "./state.ts";

/** A new run asks for a slot. Asking again for the same run gives the same answer. */
export function admit(state: LedgerState, command: Admit): Decided<Admission> {
  const draft = new Draft(state);
  const refusal = draft.slots.get(command.run) ? null : enter(draft, command);
  if (refusal !== null) return draft.decided(denied(draft, refusal));
  return draft.answered(command.run, standing(draft.slots.need(command.run)));
}

/** Lets the run in, into a slot or into the line; or says why not. */
function enter(draft: Draft, command: Admit): DenialReason | null {
  const { run, priority, onFull, at } = command;
  const parent = draft.slots.get(command.parent);
  if (!parent || parent.cancelled !== null) return "ended";
  if (parent.held && draft.tree.spawn.maxAgents > 1) return line(draft, command, parent);
  if (room(draft) > 0) {
    line(draft, command, parent);
    grant(draft, run, at);
    return null;
  }
  const found = findVictim(draft, priority);
  if (found.victim !== null) {
    line(draft, command, parent);
    preempt(draft, { taker: run, victim: found.victim, at });
    return null;
  }
  if (onFull === "deny") return found.reason;
  if (wouldDeadlock(draft, command)) return "would-deadlock";
  return line(draft, command, parent);
}

/** Every run enters through the line, with its account. A run hired by a held one is held with it. */
function line(draft: Draft, command: Admit, parent: Slot): null {
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
  return null;
}

/** A queue that nobody ever leaves: the one who asks would wait for the new run, and all others wait already. */
function wouldDeadlock(draft: Draft, { parent, detached }: Admit): boolean {
  return draft.tree.spawn.maxAgents === 1 || isStuck(draft.slots.rows, detached ? null : parent);
}

function standing(slot: Slot): Admission {
  return holds(slot) || slot.phase === "parked"
    ? { kind: "granted" }
    : { kind: "queued", victim: slot.victim };
}

function denied(draft: Draft, reason: DenialReason): Admission {
  const { maxAgents } = draft.tree.spawn;
  return { kind: "denied", reason, limit: maxAgents, used: headcount({ slots: draft.slots.rows }) };
}
