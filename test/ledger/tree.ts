import {
  AttemptId,
  RunId,
  SpawnBudget,
  StepId,
  TreeId,
  type ExecutionBudget,
  type Priority,
  type Usage,
} from "#kernel";
import {
  Ledger,
  type Admission,
  type Admit,
  type ReservationRequest,
  type Begin,
  type TreeLease,
  type CommandKind,
  type DecisionResult,
  type Gate,
  type LedgerCommand,
  type LedgerDecision,
  type LedgerEffect,
  type LedgerState,
  type RunAccount,
  type Slot,
} from "#ledger";

/** A readable run id. */
export const run = (name: string): RunId => RunId.of(TreeId.of(name), 0);
export const attempt = (name: string): AttemptId => AttemptId.of(name);
export const step = (number: number): StepId => StepId.of(run("s"), "llm", number);
export const root = run("root");

/** A dollar for a million tokens in, two for a million out: one token is one or two micro-dollars. */
export const price = { input: 1_000_000, output: 2_000_000 };

export interface TreeOptions {
  readonly maxAgents?: number;
  readonly allowPreempt?: boolean;
  readonly treeBudget?: ExecutionBudget;
  readonly rootBudget?: ExecutionBudget;
  /** Amounts of a lease without end. Default: no tenant. */
  readonly lease?: Pick<TreeLease, "tokens" | "costMicros">;
  readonly priority?: Priority;
}

/** A tree under test: keeps the state and the effects of the last command. Everything it hands over is frozen. */
export class Tree {
  state: LedgerState;
  effects: readonly LedgerEffect[] = [];
  at = 1000;
  #attempts = 0;

  constructor(options: TreeOptions = {}) {
    const { maxAgents = 3, allowPreempt = true, treeBudget = {}, rootBudget = {} } = options;
    this.state = deepFreeze(
      Ledger.open({
        root,
        priority: options.priority ?? "normal",
        spawn: SpawnBudget.of({ maxAgents, allowPreempt }),
        treeBudget,
        rootBudget,
        lease: options.lease
          ? { ...Ledger.noLease, leasedAt: 1, until: Number.MAX_SAFE_INTEGER, ...options.lease }
          : null,
        at: this.at,
      }),
    );
  }

  do<Kind extends CommandKind>(command: LedgerCommand<Kind>): LedgerDecision<Kind> {
    const decided: DecisionResult<LedgerDecision<Kind>> = Ledger.decide(this.state, deepFreeze(command));
    this.state = deepFreeze(decided.state);
    this.effects = decided.effects;
    return decided.decision;
  }

  admit(name: string, options: Partial<Admit> = {}): Admission {
    return this.do({
      kind: "admit",
      run: run(name),
      parent: root,
      priority: "normal",
      budget: null,
      onFull: "deny",
      detached: false,
      at: this.at,
      ...options,
    });
  }

  /** A model call of 10 tokens in and up to 10 out, under an attempt of its own unless named. */
  begin(
    name: string,
    options: Partial<Omit<Begin, "ask">> & { readonly ask?: Partial<ReservationRequest> | null } = {},
  ): Gate {
    this.#attempts += 1;
    const { ask = {}, ...rest } = options;
    return this.do({
      kind: "begin",
      run: run(name),
      step: step(this.#attempts),
      attempt: attempt(`attempt-${this.#attempts}`),
      epoch: { id: "1", order: null },
      rerun: false,
      leaseIsFinal: false,
      at: this.at,
      ...rest,
      ask: ask && {
        inputTokens: 10,
        outputTokens: 10,
        minOutputTokens: 1,
        price,
        unpriced: "refuse",
        landing: false,
        ...ask,
      },
    });
  }

  settle(name: string, of: string, usage: Usage | null): LedgerDecision<"settle"> {
    return this.do({ kind: "settle", run: run(name), attempt: attempt(of), usage, at: this.at });
  }

  apply(kind: "wake" | "yield" | "release" | "pause" | "resume", name: string): unknown {
    return this.do({ kind, run: run(name), at: this.at });
  }

  wait(name: string, on: readonly string[] | null): LedgerDecision<"wait"> {
    return this.do({ kind: "wait", run: run(name), on: on && on.map(run), at: this.at });
  }

  reprioritize(name: string, priority: Priority): LedgerDecision<"reprioritize"> {
    return this.do({ kind: "reprioritize", run: run(name), priority, at: this.at });
  }

  cancel(name: string, reason = "enough"): LedgerDecision<"cancel"> {
    return this.do({ kind: "cancel", run: run(name), reason, at: this.at });
  }

  slot(name: string): Slot {
    const slot = this.state.slots[run(name)];
    if (!slot) throw new Error(`no slot ${name}`);
    return slot;
  }

  phase(name: string): Slot["phase"] | "ended" {
    return this.state.slots[run(name)]?.phase ?? "ended";
  }

  account(name: string): RunAccount {
    const account = this.state.accounts[run(name)];
    if (!account) throw new Error(`no account ${name}`);
    return account;
  }

  get headcount(): number {
    return Object.values(this.state.slots).filter(Ledger.holds).length;
  }
}

/** Freezes a value deeply, skipping frozen parts. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
