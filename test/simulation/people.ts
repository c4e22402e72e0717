import { AttemptId, ReeveError, Priority, type RunId } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import type { Books } from "./books.ts";
import type { Chance } from "./chance.ts";
import type { Checker } from "./checker.ts";
import { keyOfStep, type Stage } from "./stage.ts";

/** Dependencies of the simulated users. */
export interface PeopleOptions {
  readonly chance: Chance;
  readonly runtime: Runtime;
  /** The tenant of all trees. */
  readonly owner: { readonly tenant?: string };
  readonly tell: (line: string) => void;
  readonly violate: (text: string) => void;
}

const healsEveryMs = 30_000;

/** The simulated users: they answer late, twice or out of order, change decisions, and in the end let runs continue. */
export class People {
  readonly #stage: Stage;
  readonly #checker: Checker;
  readonly #books: Books;
  readonly #options: PeopleOptions;
  readonly #reruns = new Map<string, number>();
  #messages = 0;
  #operations = 0;

  constructor(stage: Stage, checker: Checker, books: Books, options: PeopleOptions) {
    this.#stage = stage;
    this.#checker = checker;
    this.#books = books;
    this.#options = options;
  }

  /** Returns how often a user approved a repetition of this call. */
  reruns(key: string): number {
    return this.#reruns.get(key) ?? 0;
  }

  /** Gives a run the signal it waits for: sooner or later, at least once. */
  async answer(run: RunId, name: string): Promise<void> {
    const { chance, runtime } = this.#options;
    const id = `message-${++this.#messages}`;
    const handle = runtime.run(run, this.#options.owner);
    const times = chance.pickOne(1, 1, 2, 3);
    for (let time = 0; time < times; time++) {
      await this.#stage.world.pass(chance.pickBetween(0, 8_000));
      await this.#try(`signal ${name} to ${run}`, () => handle.signal(name, "now", { id }));
    }
  }

  /** Gives a run many signals at once, some of them twice. */
  async flood(run: RunId, name: string, count: number): Promise<void> {
    const { chance, runtime } = this.#options;
    await this.#stage.world.pass(chance.pickBetween(0, 2_000));
    const handle = runtime.run(run, this.#options.owner);
    const numbers = Array.from({ length: count }, (_, number) => number);
    const twice = numbers.filter(() => chance.is(0.1));
    const id = (number: number): string => `${name}-${number}`;
    await Promise.all(
      [...numbers, ...twice].map((number) =>
        this.#try(`signal ${name} ${number} to ${run}`, () =>
          handle.signal(name, number, { id: id(number) }),
        ),
      ),
    );
  }

  async decide(run: RunId, approval: string): Promise<void> {
    const { chance, runtime } = this.#options;
    await this.#stage.world.pass(chance.pickBetween(0, 8_000));
    const decision = chance.pickOne("rerun", "no");
    // A call is asked about under its own name first, then under numbered ones.
    const key = keyOfStep(approval.split(".", 1)[0] ?? approval);
    if (decision === "rerun") this.#reruns.set(key, this.reruns(key) + 1);
    const handle = runtime.run(run, this.#options.owner);
    await this.#try(`decide ${approval}: ${decision}`, () =>
      decision === "rerun" ? handle.approve(approval) : handle.deny(approval),
    );
  }

  /** Takes a few unexpected actions. */
  async interfere(): Promise<void> {
    const { chance } = this.#options;
    const times = chance.pickOne(0, 2, 5, 10);
    for (let time = 0; time < times; time++) {
      await this.#stage.world.pass(
        chance.pickOne(0, chance.pickBetween(0, 20), chance.pickBetween(0, 5_000)),
      );
      const runs = this.#checker.live();
      const run = runs[chance.pickBelow(runs.length)];
      if (run !== undefined) await this.#meddle(this.#options.runtime.run(run, this.#options.owner));
    }
  }

  async #meddle(run: RunHandle): Promise<void> {
    const { chance } = this.#options;
    const roll = chance.pickBelow(100);
    // A random id would change which keys the tree writes.
    const once = { id: `operation-${++this.#operations}` };
    if (roll < 22) void this.#try(`cancel ${run.runId}`, () => run.cancel("a person"));
    else if (roll < 35) await this.#try(`pause ${run.runId}`, () => run.pause(once));
    else if (roll < 50) await this.#try(`resume ${run.runId}`, () => run.resume(once));
    else if (roll < 70) {
      const priority = Priority.all[chance.pickBelow(Priority.all.length)] ?? "normal";
      await this.#try(`reprioritize ${run.runId} to ${priority}`, () => run.reprioritize(priority, once));
    } else if (roll < 80) await this.#try(`top up ${run.runId}`, () => run.topUp({ maxTokens: 500 }, once));
    else if (roll < 90) await this.#try(`steer ${run.runId}`, () => run.steer("faster", once));
    else await this.#reconcile();
  }

  /** A user reports the provider's bill. */
  async #reconcile(): Promise<void> {
    for (const { doubts } of this.#checker.trees.values()) {
      for (const [attempt, { run }] of doubts) {
        const entries = this.#books.bill.filter((entry) => entry.attempt === attempt);
        const entry = entries[0];
        if (!entry || entries.length > 1) continue;
        const handle = this.#options.runtime.run(run, this.#options.owner);
        const id = AttemptId.of(attempt);
        await this.#try(`reconcile ${attempt}`, () => handle.reconcile(id, entry.usage));
        return;
      }
    }
  }

  /** Resumes all held runs. */
  async heal(handles: readonly RunHandle[]): Promise<void> {
    for (;;) {
      await this.#stage.world.pass(healsEveryMs);
      for (const handle of handles) {
        const slots = Object.values(this.#checker.trees.get(handle.treeId)?.slots ?? {});
        if (slots.some(({ held }) => held))
          await this.#try(`let ${handle.treeId} go on`, () =>
            handle.resume({ id: `operation-${++this.#operations}` }),
          );
      }
    }
  }

  /** A refusal is a valid answer: the run may have ended. */
  async #try(what: string, act: () => Promise<unknown>): Promise<void> {
    this.#options.tell(what);
    try {
      await this.#stage.surely(act);
    } catch (error) {
      if (!ReeveError.is(error)) this.#options.violate(`${what}: ${String(error)}`);
    }
  }
}
