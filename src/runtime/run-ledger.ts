import { Json, type Micros } from "#kernel";
import type { Account, Amounts, TreeLease, RunAccount, TreeState } from "#ledger";

/** The limits and the spend of an account. */
interface AccountView {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  /** Reported amounts. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** Ceilings of calls whose outcome is unknown. */
  readonly inDoubt: Amounts;
}

/** Money and headcount of a tree, and of one of its runs. */
export interface RunLedger {
  readonly tree: AccountView & {
    readonly maxAgents: number;
    readonly liveAgents: number;
    /** The part of its tenant's budgets that it may use before it asks for more. Null: unlimited, or no tenant. */
    readonly lent: Pick<TreeLease, "tokens" | "costMicros"> | null;
  };
  /** Null once the run has ended: its totals are in its result. */
  readonly run: (AccountView & { readonly maxTurns: number | null; readonly turns: number }) | null;
}

/** The reply of the tree. */
interface StoredLedger {
  readonly tree: TreeState;
  readonly run: { readonly account: RunAccount; readonly execution: string | null } | null;
}

/** Returns the figures for people, without the ledger's internals. */
export function readLedger(reply: Json): RunLedger {
  const { tree, run } = Json.as<StoredLedger>(reply);
  return {
    tree: {
      ...toAccountView(tree.account),
      maxAgents: tree.spawn.maxAgents,
      liveAgents: tree.headcount.holders,
      lent: lentOf(tree.lease),
    },
    run: run && { ...toAccountView(run.account), maxTurns: run.account.maxTurns, turns: run.account.turns },
  };
}

function lentOf(lease: TreeLease | null): RunLedger["tree"]["lent"] {
  if (!lease || lease.leasedAt === 0) return null;
  const { tokens, costMicros } = lease;
  return { tokens, costMicros };
}

/** Returns the engine's id of the run's execution. Null while there is none. */
export function executionIn(reply: Json): string | null {
  return Json.as<StoredLedger>(reply).run?.execution ?? null;
}

const toAccountView = ({
  maxTokens,
  maxCostMicros: maxCost,
  settled,
  reserved,
  inDoubt,
}: Account): AccountView => ({
  maxTokens,
  maxCostMicros: maxCost,
  settled,
  reserved,
  inDoubt,
});
