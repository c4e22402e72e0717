import type { AttemptId, RunId } from "#kernel";
import type { Doubt, RunAccount } from "./account.ts";
import type { Decided, LedgerEffect } from "./command.ts";
import type { LedgerState, Slot, TreeState } from "./state.ts";
import { Table } from "./table.ts";

/** One decision in the making. What it changes, nobody else sees until it is `decided`. */
export class Draft {
  tree: TreeState;
  readonly slots: Table<RunId, Slot>;
  readonly accounts: Table<RunId, RunAccount>;
  readonly doubts: Table<AttemptId, Doubt>;
  readonly effects: LedgerEffect[] = [];
  readonly #from: LedgerState;

  constructor(from: LedgerState) {
    this.#from = from;
    this.tree = from.tree;
    this.slots = new Table("slot", from.slots);
    this.accounts = new Table("account", from.accounts);
    this.doubts = new Table("doubt", from.doubts);
  }

  get state(): LedgerState {
    const { tree, slots, accounts, doubts } = this.#from;
    const unchanged =
      this.tree === tree &&
      this.slots.rows === slots &&
      this.accounts.rows === accounts &&
      this.doubts.rows === doubts;
    if (unchanged) return this.#from;
    return {
      tree: this.tree,
      slots: this.slots.rows,
      accounts: this.accounts.rows,
      doubts: this.doubts.rows,
    };
  }

  decided<Decision>(decision: Decision): Decided<Decision> {
    return { state: this.state, decision, effects: this.effects };
  }

  /** For a command that asks for one run: that it got its slot is the decision, not an effect. */
  answered<Decision>(run: RunId, decision: Decision): Decided<Decision> {
    const effects = this.effects.filter(
      (effect) => !((effect.kind === "launch" || effect.kind === "resume") && effect.run === run),
    );
    return { state: this.state, decision, effects };
  }
}
