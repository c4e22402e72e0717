/** A mistake put into a worker's code as it is loaded: nothing of it is in the source. */
export interface PlantedBug {
  /** The predicate that must notice. */
  readonly predicate: string;
  readonly what: string;
  /** Where, below `src`. The text must stand there exactly once. */
  readonly file: string;
  readonly was: string;
  readonly is: string;
}

/** One for each predicate. */
export const bugs: readonly PlantedBug[] = [
  {
    predicate: "I1",
    what: "nobody is told that a helper has ended",
    file: "runtime/tree/life.ts",
    was: 'work.push(listener, { kind: "ended", run: id, result });',
    is: "void listener;",
  },
  {
    predicate: "I2",
    what: "steps are numbered by twos",
    file: "runtime/driver/driver.ts",
    was: "const number = ++this.#steps;",
    is: "const number = (this.#steps += 2);",
  },
  {
    predicate: "I3",
    what: "an answered call is made once more, later",
    file: "runtime/run/model-calls.ts",
    was: "return gate.shrunk ? { ...response, shrunk: gate.shrunk } : response;",
    is: `setTimeout(() => void model.generate(request, { signal: AbortSignal.timeout(5_000) }).catch(() => {}), 500);
      return response;`,
  },
  {
    predicate: "I4",
    what: "a retry passes no gate",
    file: "runtime/run/model-calls.ts",
    was: "const gate = this.#granted(attempt, await this.#pass(attempt, asked));",
    is: `const gate = asked.retry > 0
      ? { ceiling: { tokens: 0, cost: 0 }, outputTokens: 100, shrunk: null }
      : this.#granted(attempt, await this.#pass(attempt, asked));`,
  },
  {
    predicate: "I5",
    what: "too little is reserved",
    file: "ledger/fit.ts",
    was: "return { tokens: inputTokens + output, cost };",
    is: "return { tokens: 1, cost: 1 };",
  },
  {
    predicate: "I6",
    what: "the prompt is not booked",
    file: "ledger/settle.ts",
    was: "amounts: { tokens: Usage.tokens(usage), cost }",
    is: "amounts: { tokens: usage.output, cost }",
  },
  {
    predicate: "I7",
    what: "caps are forgotten",
    file: "ledger/fit.ts",
    was: "if (limit !== null) caps.push({ dimension, limit, used, usable: limit - slice });",
    is: "void slice;",
  },
  {
    predicate: "I8",
    what: "an effect is brought twice, under another key",
    file: "runtime/run/tool-step.ts",
    was: "tool.execute(input, {",
    is: "(void tool.execute(input, { signal: limited.signal, idempotencyKey: `${place.id}:again` }), tool).execute(input, {",
  },
  {
    predicate: "I9",
    what: "two agents too many are allowed",
    file: "ledger/headcount.ts",
    was: "return draft.tree.spawn.maxAgents - headcount({ slots: draft.slots.rows });",
    is: "return 2 + draft.tree.spawn.maxAgents - headcount({ slots: draft.slots.rows });",
  },
  {
    predicate: "I10",
    what: "a cancelled run is not told",
    file: "runtime/tree/life.ts",
    was: `work.push(run, { kind: "cancel", reason });
  work.object.cancel(execution);`,
    is: "void reason;",
  },
  {
    predicate: "I11",
    what: "steps are named after what they are about",
    file: "runtime/run/step.ts",
    was: "name, print: fingerprint(subject) };",
    is: "name: `${name} ${subject}`, print: fingerprint(subject) };",
  },
  {
    predicate: "I12",
    what: "a link does not vouch for its moment",
    file: "runtime/audit/chain.ts",
    was: "canonical([index, at, kind, data, source, keyId, previous])",
    is: "canonical([index, kind, data, source, keyId, previous])",
  },
  {
    predicate: "I13",
    what: "every journal of a run gives its events the same ids",
    file: "runtime/tree/records.ts",
    was: "continuation === 0 ? `${type}/${number}` : `${type}@${continuation}/${number}`;",
    is: "`${type}/${number}`;",
  },
  {
    predicate: "I14",
    what: "chance is another one on every replay",
    file: "runtime/random.ts",
    was: "return (t >>> 0) / 4_294_967_296;",
    is: "return Math.random();",
  },
  {
    predicate: "I15",
    what: "what happened is written down under one tenant",
    file: "runtime/addresses.ts",
    was: "partition: partitionOf(isNobody ? undefined : tenant),",
    is: 'partition: partitionOf("mill"),',
  },
];

/** The source of a bug's file, with the bug. @throws Error if its text does not stand there exactly once. */
export function planted(source: string, { file, was, is, predicate }: PlantedBug): string {
  const parts = source.split(was);
  if (parts.length === 2) return parts.join(is);
  throw new Error(`${file} no longer holds the text of the bug for ${predicate}: plant it anew`);
}
