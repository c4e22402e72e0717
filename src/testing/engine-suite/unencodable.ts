import assert from "node:assert/strict";
import { ForeignError, ReeveError, Json, type Agent, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";

/** Values that types allow through a cast, a database driver or parsed data, and that JSON cannot hold. */
const values: Readonly<Record<string, () => unknown>> = {
  bigint: () => ({ rows: [{ id: 10n }] }),
  cycle: () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    return value;
  },
  "toJSON that throws": () => ({
    toJSON: () => {
      throw new Error("not now");
    },
  }),
  "6,000 levels": () => nestValue(6_000),
  "20,000 levels": () => nestValue(20_000),
  function: () => () => 1,
};

/** Thrown values that cannot even be read. */
const thrown: Readonly<Record<string, () => unknown>> = {
  "an object without text": () => Object.create(null),
  "an error whose message throws": () => {
    const error = new Error("x");
    Object.defineProperty(error, "message", {
      get: () => {
        throw new Error("hidden");
      },
    });
    return error;
  },
  "an error with a bigint": () => Object.assign(new ForeignError({ message: "x" }), { detail: 10n }),
};

function nestValue(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/** A value from untyped code. */
const untyped = (value: unknown): Json => Json.of(value);

async function failureOf(
  harness: Parameters<EngineCase["run"]>[0],
  run: Agent["run"],
): Promise<ReeveErrorData> {
  const lead = agentOf("lead", run);
  return onRuntime(harness, { agents: [lead], maxRestarts: 0 }, async (runtime) => {
    const { status, error } = await (await runtime.start(lead, "go")).result();
    assert.equal(status, "failed");
    return { code: error?.code ?? "none", message: error?.message ?? "" };
  });
}

interface ReeveErrorData {
  readonly code: string;
  readonly message: string;
}

const codeOf = (error: unknown): string => (ReeveError.is(error) ? error.code : "foreign");

/** A value that cannot be encoded ends a run or fails a step; it never keeps a run from ending. */
export const unencodableCases: readonly EngineCase[] = [
  ...Object.entries(values).flatMap(([name, make]): EngineCase[] => [
    {
      name: `1 an output that JSON cannot hold fails the run with that reason: ${name}`,
      async run(harness) {
        const { code, message } = await failureOf(harness, async () => untyped(make()));
        assert.equal(code, "unencodable");
        assert.match(message, /^the output cannot be encoded as JSON: it/);
      },
    },
    {
      name: `5.2 a result of a step that JSON cannot hold is an error that the code can catch: ${name}`,
      async run(harness) {
        const lead = agentOf("lead", async (ctx) => {
          const failed = await ctx.step("read", () => untyped(make())).catch(codeOf);
          return [failed, await ctx.step("next", () => "fine")];
        });
        await onRuntime(harness, { agents: [lead] }, async (runtime) => {
          const { status, output } = await (await runtime.start(lead, "go")).result();
          assert.deepEqual([status, output], ["completed", ["unencodable", "fine"]]);
        });
      },
    },
  ]),
  {
    name: "1 a state for continueAs that JSON cannot hold fails the run",
    async run(harness) {
      const { code, message } = await failureOf(harness, async (ctx) => ctx.continueAs(untyped({ id: 10n })));
      assert.equal(code, "unencodable");
      assert.match(message, /^the state for continueAs cannot be encoded as JSON: it\.id is a bigint$/);
    },
  },
  ...Object.entries(thrown).map(([name, make]): EngineCase => ({
    name: `1 a run that throws an unreadable value fails: ${name}`,
    async run(harness) {
      const { code } = await failureOf(harness, async () => {
        throw make();
      });
      assert.equal(code, "foreign");
    },
  })),
  {
    name: "6.1 an emit, send or reply with data that JSON cannot hold fails only its call",
    async run(harness) {
      const data = { id: 10n };
      const calls = (ctx: RunContext): readonly (() => Promise<unknown>)[] => [
        () => ctx.emit(untyped(data)),
        () => ctx.emit(untyped(nestValue(20_000))),
      ];
      const lead = agentOf("lead", async (ctx) => {
        const failures: string[] = [];
        for (const call of calls(ctx))
          await call().then(
            () => failures.push("sent"),
            (error: unknown) => failures.push(codeOf(error)),
          );
        await ctx.emit("fine");
        return failures;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { status, output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, output], ["completed", ["unencodable", "unencodable"]]);
      });
    },
  },
];
