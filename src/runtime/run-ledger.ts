import { Json, type Micros, type RunId } from "#kernel";
import type { Account, Amounts, Block, RunAccount, Slot, TreeState } from "#ledger";

/** What an account may spend, and where its money is. */
export interface AccountView {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCost: Micros | null;
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
    /** What its tenant has lent it so far, where the tenant has a limit. */
    readonly lent: Block | null;
  };
  /** Null once the run has ended: what it came to is in its result. */
  readonly run: (AccountView & { readonly maxTurns: number | null; readonly turns: number }) | null;
}

/** What the tree keeps of it. */
interface Kept {
  readonly tree: TreeState;
  readonly slots: Readonly<Record<RunId, Slot>>;
  readonly run: { readonly account: RunAccount; readonly execution: string | null } | null;
}

/** For people: without what only the ledger needs to know. */
export function readLedger(reply: Json): RunLedger {
  const { tree, slots, run } = Json.as<Kept>(reply);
  const live = Object.values(slots).filter(({ phase }) => phase !== "pending" && phase !== "parked");
  return {
    tree: {
      ...viewOf(tree.account),
      maxAgents: tree.spawn.maxAgents,
      liveAgents: live.length,
      lent: tree.block,
    },
    run: run && { ...viewOf(run.account), maxTurns: run.account.maxTurns, turns: run.account.turns },
  };
}

/** The engine's name for what executes the run; null while nothing does. */
export function executionIn(reply: Json): string | null {
  return Json.as<Kept>(reply).run?.execution ?? null;
}

const viewOf = ({ maxTokens, maxCost, settled, reserved, inDoubt }: Account): AccountView => ({
  maxTokens,
  maxCost,
  settled,
  reserved,
  inDoubt,
});
