import { Json, type Micros } from "#kernel";
import type { Account, Amounts, Block, RunAccount, TreeState } from "#ledger";

/** What an account may spend, and where its money is. */
interface AccountView {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  /** Real figures, as reported. */
  readonly settled: Amounts;
  /** Ceilings of calls in flight. */
  readonly reserved: Amounts;
  /** Ceilings of calls whose outcome nobody knows. */
  readonly inDoubt: Amounts;
}

/** Money and headcount of a tree, and of one of its runs. */
export interface RunLedger {
  readonly tree: AccountView & {
    readonly maxAgents: number;
    readonly liveAgents: number;
    /** The part of its tenant's budgets that it may use before it asks for more; null: nothing limits it, or it has no tenant. */
    readonly lent: Pick<Block, "tokens" | "costMicros"> | null;
  };
  /** Null once the run has ended: what it came to is in its result. */
  readonly run: (AccountView & { readonly maxTurns: number | null; readonly turns: number }) | null;
}

/** What the tree keeps of it. */
interface Kept {
  readonly tree: TreeState;
  readonly run: { readonly account: RunAccount; readonly execution: string | null } | null;
}

/** For people: without what only the ledger needs to know. */
export function readLedger(reply: Json): RunLedger {
  const { tree, run } = Json.as<Kept>(reply);
  return {
    tree: {
      ...viewOf(tree.account),
      maxAgents: tree.spawn.maxAgents,
      liveAgents: tree.headcount.holders,
      lent: lentOf(tree.block),
    },
    run: run && { ...viewOf(run.account), maxTurns: run.account.maxTurns, turns: run.account.turns },
  };
}

function lentOf(block: Block | null): RunLedger["tree"]["lent"] {
  if (!block || block.leasedAt === 0) return null;
  const { tokens, costMicros } = block;
  return { tokens, costMicros };
}

/** The engine's name for what executes the run; null while nothing does. */
export function executionIn(reply: Json): string | null {
  return Json.as<Kept>(reply).run?.execution ?? null;
}

const viewOf = ({ maxTokens, maxCostMicros: maxCost, settled, reserved, inDoubt }: Account): AccountView => ({
  maxTokens,
  maxCostMicros: maxCost,
  settled,
  reserved,
  inDoubt,
});
