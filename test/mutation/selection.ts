import type { MeasuredTest } from "./test-host.ts";

/** A test that takes longer is not used: a mutant could make it time out by chance. */
const slowestMs = 5_000;

/** Picks the tests for a mutant: those that enter its function, the likeliest to fail first, within a budget of time. */
export class Selection {
  readonly #byFunction = new Map<string, MeasuredTest[]>();
  /** Number of mutants of a file that a test has killed. */
  readonly #kills = new Map<string, number>();
  readonly #budgetMs: number;

  constructor(tests: readonly MeasuredTest[], budgetMs: number) {
    this.#budgetMs = budgetMs;
    for (const test of tests.filter(({ ms }) => ms <= slowestMs))
      for (const name of test.entered) {
        const known = this.#byFunction.get(name);
        if (known) known.push(test);
        else this.#byFunction.set(name, [test]);
      }
  }

  /** Notes that a test, by file and name, has killed a mutant of a file. */
  learn(file: string, killer: string): void {
    const key = `${file} ${killer}`;
    this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1);
  }

  /** Returns the tests for a mutant in a function. The first fits in any case. */
  testsFor(name: string): readonly MeasuredTest[] {
    const file = name.slice(0, name.lastIndexOf(":"));
    const kills = (test: MeasuredTest): number => this.#kills.get(`${file} ${test.file}: ${test.name}`) ?? 0;
    // A test that enters few functions is about one of them.
    const ordered = (this.#byFunction.get(name) ?? []).toSorted(
      (a, b) => kills(b) - kills(a) || a.entered.length + a.ms - (b.entered.length + b.ms),
    );
    let left = this.#budgetMs;
    return ordered.filter(({ ms }, index) => {
      const fits = index === 0 || ms <= left;
      if (fits) left -= ms;
      return fits;
    });
  }
}
