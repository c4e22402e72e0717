import type { ExecutionBudget } from "#kernel";
import { Account } from "./money/account.ts";
import type { Open } from "./command.ts";
import { emptyHeadcount } from "./slots/count.ts";
import type { LedgerState, Slot } from "./state.ts";
import { oneRow } from "./table.ts";
import { openFence } from "./slots/fence.ts";

/** Opens a tree. Its root has the first slot. The tree's turns and deadline are the root's. */
export function open({
  root,
  priority,
  spawn,
  treeBudget,
  rootBudget,
  lease,
  ageingMs,
  at,
}: Open): LedgerState {
  const allowedMs = minLimit(deadlineMs(treeBudget), deadlineMs(rootBudget));
  const account = Account.ofRun(rootBudget);
  const maxTurns = minLimit(treeBudget.maxTurns ?? null, account.maxTurns);
  return {
    tree: {
      root,
      spawn,
      account: Account.of(treeBudget),
      lease,
      ageingMs: ageingMs ?? 60_000,
      nextOrder: 1,
      headcount: { ...emptyHeadcount, live: 1, holders: 1, active: 1 },
      calls: { line: {}, due: null },
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
    waits: {},
    pages: {},
    doubts: {},
  };
}

/** The initial fields of every slot. */
export const newcomer = Object.freeze({
  held: false,
  waitsForRuns: false,
  taker: null,
  victim: null,
  skipped: false,
  asleep: false,
  isBlocked: false,
  detached: false,
  allowedMs: null,
  cancelled: null,
  fence: openFence,
  children: 0,
  idleChildren: 0,
  idleSince: null,
  idleMs: 0,
  hasLateAsks: false,
  page: null,
}) satisfies Partial<Slot>;

/** Returns the maximum duration of a run in milliseconds. Null: no limit. */
export function deadlineMs({ deadlineS }: ExecutionBudget): number | null {
  return deadlineS === undefined ? null : deadlineS * 1000;
}

function minLimit(a: number | null, b: number | null): number | null {
  const smaller = Math.min(a ?? Infinity, b ?? Infinity);
  return smaller === Infinity ? null : smaller;
}
