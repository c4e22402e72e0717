import type { Micros, TreeId } from "#kernel";
import { Amounts } from "./amounts.ts";
import { entries } from "./table.ts";

/** What a tree has borrowed and neither spent for good nor given back. */
export interface Loan extends Amounts {
  /** When the tree was last heard of. */
  readonly idleSince: number;
}

/** What all trees of a tenant may spend together. What is lent and what is spent never exceed a limit. */
export interface TenantState {
  /** Null: no limit. */
  readonly maxTokens: number | null;
  readonly maxCost: Micros | null;
  readonly lent: Readonly<Record<TreeId, Loan>>;
  /** By trees that are over. */
  readonly spent: Amounts;
}

/** A tree asks for more. */
export interface Draw extends Amounts {
  readonly tree: TreeId;
  readonly at: number;
}

/** A tree returns what it has not used, and tells what it has spent and will not tell again. */
export interface GiveBack extends Amounts {
  readonly tree: TreeId;
  readonly spentTokens: number;
  readonly spentCost: Micros;
  readonly at: number;
}

/** What a tree gets. Less than it asked for only if there is no more; `recall` then names who might return some. */
export interface Grant extends Amounts {
  readonly recall: readonly TreeId[];
}

/** What a command to a tenant comes to. */
export interface TenantDecided<Decision> {
  readonly state: TenantState;
  readonly decision: Decision;
}

/** A tree that has been silent for so long may not need what it holds. */
const idleMs = 30_000;
/** Lent at once where there is plenty: a sixteenth of the limit. */
const blocks = 16;

/** The money of a tenant, lent to its trees in blocks so that it is not asked for every call. Pure. */
export const TenantLedger = {
  /** Sets the limits; what was lent and spent stays, even where it is more than a lowered limit. */
  limit: (
    state: TenantState | null,
    { maxTokens, maxCost }: Pick<TenantState, "maxTokens" | "maxCost">,
  ): TenantState => ({ lent: state?.lent ?? {}, spent: state?.spent ?? Amounts.none, maxTokens, maxCost }),

  /** Lends at least what is asked for, if that is free, and preferably a block. */
  draw: (state: TenantState, { tree, tokens, cost, at }: Draw): TenantDecided<Grant> => {
    const used = outstanding(state);
    const granted = {
      tokens: portion(state.maxTokens, used.tokens, tokens),
      cost: portion(state.maxCost, used.cost, cost),
    };
    const isShort = granted.tokens < tokens || granted.cost < cost;
    const loan = Amounts.add(state.lent[tree] ?? Amounts.none, granted);
    return {
      state: { ...state, lent: { ...state.lent, [tree]: { ...loan, idleSince: at } } },
      decision: { ...granted, recall: isShort ? idle(state, tree, at) : [] },
    };
  },

  /** Takes back. A tree that has nothing left of its loan is forgotten. */
  giveBack: (state: TenantState, command: GiveBack): TenantDecided<null> => {
    const { tree, tokens, cost, spentTokens, spentCost, at } = command;
    const { [tree]: loan, ...others } = state.lent;
    const spent = { tokens: spentTokens, cost: spentCost };
    // A call may have cost more than its ceiling: then more is spent than was lent, and less is free.
    const left = {
      tokens: Math.max(0, (loan?.tokens ?? 0) - tokens - spentTokens),
      cost: Math.max(0, (loan?.cost ?? 0) - cost - spentCost),
    };
    const isOver = left.tokens === 0 && left.cost === 0;
    const lent = isOver ? others : { ...others, [tree]: { ...left, idleSince: at } };
    return { state: { ...state, lent, spent: Amounts.add(state.spent, spent) }, decision: null };
  },
} as const;

function outstanding({ lent, spent }: TenantState): Amounts {
  let sum: Amounts = spent;
  for (const [, loan] of entries(lent)) sum = Amounts.add(sum, loan);
  return sum;
}

function portion(limit: number | null, used: number, asked: number): number {
  if (limit === null) return asked;
  const free = Math.max(0, limit - used);
  return Math.min(free, Math.max(asked, Math.floor(limit / blocks)));
}

function idle({ lent }: TenantState, asking: TreeId, at: number): readonly TreeId[] {
  return entries(lent)
    .filter(([tree, { idleSince }]) => tree !== asking && at - idleSince >= idleMs)
    .map(([tree]) => tree);
}
