import type { ExecutionBudget } from "#kernel";
import { Account } from "./account.ts";
import type { Open } from "./command.ts";
import type { LedgerState, Slot } from "./state.ts";
import { oneRow } from "./table.ts";

/** A new tree. Its root has the first slot; the tree's turns and deadline are the root's. */
export function open({
  root,
  priority,
  spawn,
  treeBudget,
  rootBudget,
  block,
  ageingMs,
  at,
}: Open): LedgerState {
  const allowedMs = least(deadlineMs(treeBudget), deadlineMs(rootBudget));
  const account = Account.ofRun(rootBudget);
  const maxTurns = least(treeBudget.maxTurns ?? null, account.maxTurns);
  return {
    tree: {
      root,
      spawn,
      account: Account.of(treeBudget),
      block,
      ageingMs: ageingMs ?? 60_000,
      nextOrder: 1,
    },
    slots: oneRow(root, {
      ...newcomer,
      parent: null,
      priority,
      order: 0,
      phase: "running",
      since: at,
      deadline: allowedMs === null ? null : at + allowedMs,
    }),
    accounts: oneRow(root, { ...account, maxTurns }),
    doubts: {},
  };
}

/** What every slot begins with. */
export const newcomer = Object.freeze({
  held: false,
  waitsOn: null,
  taker: null,
  victim: null,
  skipped: false,
  asleep: false,
  detached: false,
  allowedMs: null,
  cancelled: null,
  epoch: "",
}) satisfies Partial<Slot>;

/** How long a run may take, in milliseconds; null for as long as it likes. */
export function deadlineMs({ deadlineS }: ExecutionBudget): number | null {
  return deadlineS === undefined ? null : deadlineS * 1000;
}

function least(a: number | null, b: number | null): number | null {
  const smaller = Math.min(a ?? Infinity, b ?? Infinity);
  return smaller === Infinity ? null : smaller;
}
