/** A bug inserted into a worker's code as it is loaded: the source does not contain it. */
export interface PlantedBug {
  /** The predicate that must notice. */
  readonly predicate: string;
  readonly what: string;
  /** The file, below `src`. The text must occur there exactly once. */
  readonly file: string;
  readonly was: string;
  readonly is: string;
}

/** One per predicate. */
export const bugs: readonly PlantedBug[] = [
  {
    predicate: "I1",
    what: "no run is notified that a child has ended",
    file: "tree/run-lifecycle.ts",
    was: 'work.push(listener, { kind: "ended", run: id, result });',
    is: "void listener;",
  },
  {
    predicate: "I2",
    what: "steps are numbered by twos",
    file: "run/driver/step-names.ts",
    was: "const number = ++this.#count;",
    is: "const number = (this.#count += 2);",
  },
  {
    predicate: "I3",
    what: "an answered call is made once more, later",
    file: "run/model-calls.ts",
    was: "return gate.shrunk ? { ...response, shrunk: gate.shrunk } : response;",
    is: `setTimeout(() => void model.generate(request, { signal: AbortSignal.timeout(5_000) }).catch(() => {}), 500);
      return response;`,
  },
  {
    predicate: "I4",
    what: "a retry passes no gate",
    file: "run/model-calls.ts",
    was: "const gate = this.#requireGrant(await this.#pass(attempt, asked, reservation), asked, remedy);",
    is: `const gate = asked.retry > 0
      ? { ceiling: { tokens: 0, costMicros: 0 }, outputTokens: 100, shrunk: null }
      : this.#requireGrant(await this.#pass(attempt, asked, reservation), asked, remedy);`,
  },
  {
    predicate: "I5",
    what: "too little is reserved",
    file: "ledger/money/fit.ts",
    was: "return { tokens: inputTokens + output, costMicros: cost };",
    is: "return { tokens: 1, costMicros: 1 };",
  },
  {
    predicate: "I6",
    what: "the prompt is not booked",
    file: "ledger/money/settle.ts",
    was: "amounts: { tokens: Usage.tokens(usage), costMicros: cost }",
    is: "amounts: { tokens: usage.output, costMicros: cost }",
  },
  {
    predicate: "I7",
    what: "caps are forgotten",
    file: "ledger/money/fit.ts",
    was: "if (limit === null) continue;\n    const held =",
    is: "if (limit !== -1) continue;\n    const held =",
  },
  {
    predicate: "I8",
    what: "an effect is brought twice, under another key",
    file: "run/execute-effect.ts",
    was: "tool.execute(input, createEffectCall({ identity, place, limited, updates, memory, resumed, llm })),",
    is: `(void tool.execute(input, createEffectCall({ identity, place: { ...place, id: \`\${place.id}:again\` }, limited, updates, memory, resumed, llm })), tool)
        .execute(input, createEffectCall({ identity, place, limited, updates, memory, resumed, llm })),`,
  },
  {
    predicate: "I9",
    what: "two agents too many are allowed",
    file: "ledger/slots/headcount.ts",
    was: "return tree.spawn.maxAgents - tree.headcount.holders;",
    is: "return 2 + tree.spawn.maxAgents - tree.headcount.holders;",
  },
  {
    predicate: "I10",
    what: "a cancelled run is not told",
    file: "tree/run-lifecycle.ts",
    was: `work.push(run, { kind: "cancel", reason });
  work.object.cancel(execution);`,
    is: "void reason;",
  },
  {
    predicate: "I11",
    what: "results of tools are logged",
    file: "run/execute-effect.ts",
    was: "return toResult(tool.name, value);",
    is: `console.error(JSON.stringify(value));
    return toResult(tool.name, value);`,
  },
  {
    predicate: "I12",
    what: "a link does not vouch for its moment",
    file: "audit/chain.ts",
    was: "canonical([index, at, kind, data, source, keyId, previous])",
    is: "canonical([index, kind, data, source, keyId, previous])",
  },
  {
    predicate: "I13",
    what: "every journal of a run gives its events the same ids",
    file: "tree/report.ts",
    was: "continuation === 0 ? `${type}/${number}` : `${type}@${continuation}/${number}`;",
    is: "`${type}/${number}`;",
  },
  {
    predicate: "I14",
    what: "chance is another one on every replay",
    file: "tree/tree-secret.ts",
    was: "return bytes(this.#key, `${this.#place}/${this.#made}`);",
    is: "return randomBytes(32);",
  },
  {
    predicate: "I15",
    what: "what happened is written down under one tenant",
    file: "tree/addresses.ts",
    was: "partition: Partition.of(hasNoTenant ? undefined : tenant),",
    is: 'partition: Partition.of("acme"),',
  },
  {
    predicate: "I16",
    what: "a turn is said to be saved, and stays on its branch",
    file: "run/run-session.ts",
    was: "const outcome = await this.#session.adopt(runId, { last, ...(await this.#readStart()) });",
    is: 'const outcome = "adopted" as "adopted" | "incomplete" | "overtaken" | "settled";',
  },
  {
    predicate: "I17",
    what: "the labels of a conversation stay behind when a later turn reads it",
    file: "run/model-step.ts",
    was: 'state.labels.join(brings, "input", "conversation");',
    is: "",
  },
  {
    predicate: "I18",
    what: "texts are left out of what is written with a manifest",
    file: "run/step-manifest.ts",
    was: "store.put({ tenantId: scope.tenantId }, record, texts)",
    is: "store.put({ tenantId: scope.tenantId }, record, [])",
  },
];

/** Returns the source of a bug's file with the bug. @throws Error if its text does not occur there exactly once. */
export function plantBug(
  source: string,
  { file, was, is, what }: Pick<PlantedBug, "file" | "was" | "is" | "what">,
): string {
  const parts = source.split(was);
  if (parts.length === 2) return parts.join(is);
  throw new Error(`${file} no longer holds the text of the bug "${what}": plant it again`);
}
