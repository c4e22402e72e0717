import {
  AgentId,
  IncompatibleVersionError,
  Json,
  ReeveError,
  RetryableError,
  type Agent,
  type Engine,
  type EngineProgram,
  type ObjectContext,
  type RunLaunch,
} from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/engine-suite/harness.ts";
import { protocolNumber, withProtocol } from "../../src/tree/protocol-number.ts";

const lead: Agent = { id: AgentId.of("lead"), run: (ctx) => ctx.waitFor("go") };

/** A local engine that shows its program. */
function shown(layer = (program: EngineProgram): EngineProgram => program) {
  const inner = local();
  const programs: EngineProgram[] = [];
  const engine: Engine = {
    ...inner,
    define: (program) => {
      programs.push(program);
      inner.define(layer(program));
    },
  };
  return { engine, programs };
}

/** An object whose state is a map, and which records its outgoing messages. */
function objectOn(state: Map<string, Json>, left: unknown[] = []): ObjectContext {
  return {
    key: "-/report",
    maxValueBytes: 16_000_000,
    keepsReferences: false,
    now: () => 0,
    hostedSince: () => 0,
    get: (name) => state.get(name) ?? null,
    prefetch: () => undefined,
    list: (prefix) => [...state.keys()].filter((name) => name.startsWith(prefix)),
    set: (name, value) => void state.set(name, value),
    clear: (name) => void state.delete(name),
    send: (_, method, argument) => void left.push({ method, argument }),
    call: (_, method, argument) => {
      left.push({ method, argument });
      return null;
    },
    launch: (run) => {
      left.push(run);
      return "execution";
    },
    wake: () => undefined,
    cancel: () => undefined,
    kill: () => undefined,
  };
}

test.each([0, protocolNumber + 1, "text", null])(
  "a call of protocol %j is refused, and may be tried again",
  async (protocol) => {
    const { engine } = shown();
    await using runtime = new Runtime({ agents: [lead], engine });
    const run = await runtime.start(lead, "go", { id: "report" });
    for (const [type, key, method] of [
      ["tree", "-/report", "status"],
      ["tree", "-/report", "cancel"],
      ["session", "-/talk", "turn"],
      ["tenant", "acme", "setBudget"],
    ] as const) {
      const argument = { run: run.runId, reason: "stop", at: 0, ...(protocol !== null && { protocol }) };
      const error: unknown = await engine
        .call({ type, key }, method, argument)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RetryableError);
      expect(ReeveError.is(error) && error.message).toMatch(
        new RegExp(
          `^a call of ${type}.${method} has protocol \\d, this worker understands ${protocolNumber - 1} to ${protocolNumber}: serve`,
        ),
      );
    }
    expect(await run.status()).toBe("waiting");
  },
);

test("every stored value, launch, message and event carries the number", async () => {
  const { engine, programs } = shown();
  let opening: Json = null;
  const call: Engine["call"] = (to, method, argument) => {
    if (method === "open") opening = argument;
    return engine.call(to, method, argument);
  };
  await using runtime = new Runtime({ agents: [lead], engine: { ...engine, call } });
  const run = await runtime.start(lead, "go", { id: "report", deadlineS: 60 });
  await run.signal("go");
  await run.result();
  const state = new Map<string, Json>();
  const left: unknown[] = [];
  const tree = programs[0]?.objects.find(({ type }) => type === "tree");
  const object = objectOn(state, left);
  tree?.methods["open"]?.(object, opening);
  const cancel = withProtocol({ run: run.runId, reason: "stop", at: 0 });
  tree?.methods["cancel"]?.(object, cancel);
  const end = { status: "cancelled", stopReason: "cancelled", output: null };
  tree?.methods["end"]?.(object, withProtocol({ run: run.runId, continuation: 0, reports: [], at: 0, end }));
  expect([...state.keys()].toSorted()).toEqual(
    expect.arrayContaining(["closed", "tree", `ended/${run.runId}`]),
  );
  for (const [name, value] of state)
    expect([name, value]).toEqual([name, { v: protocolNumber, value: expect.anything() }]);
  expect(left.length).toBeGreaterThan(0);
  for (const sent of left)
    expect(
      Json.as<{ argument?: RunLaunch } & RunLaunch>(Json.of(sent)).argument?.protocol ??
        Json.as<RunLaunch>(Json.of(sent)).protocol,
    ).toBe(protocolNumber);
  for await (const event of run.events()) expect(event.v).toBe(protocolNumber);
});

test.each([
  ["without a number", { treeId: "report" }],
  ["of a newer number", { v: protocolNumber + 1, value: { treeId: "report" } }],
  ["that is not an object", "report"],
])("stored state %s is refused, may be tried again, and is not changed", (_, stored) => {
  const { engine, programs } = shown();
  expect(new Runtime({ agents: [lead], engine }).agents).toEqual([lead]);
  for (const [type, name, method] of [
    ["tree", "tree", "cancel"],
    ["session", "session", "release"],
    ["tenant", "budget", "setBudget"],
  ] as const) {
    const state = new Map<string, Json>([[name, stored]]);
    const run = programs[0]?.objects.find((definition) => definition.type === type)?.methods[method];
    const argument = withProtocol({
      run: "report~0",
      reason: "stop",
      at: 0,
      tree: { type: "tree", key: "x" },
      user: null,
    });
    expect(() => run?.(objectOn(state), argument)).toThrow(RetryableError);
    expect(state.get(name)).toEqual(stored);
  }
});

test("a run that was launched under a number this worker does not know is not executed", async () => {
  const thrown: unknown[] = [];
  const { engine } = shown((program) => ({
    ...program,
    run: async (primitives) => {
      const launch = { ...primitives.launch, protocol: protocolNumber + 1 };
      await program.run(Object.create(primitives, { launch: { value: launch } })).catch((error: unknown) => {
        thrown.push(error);
        throw error;
      });
    },
  }));
  await using runtime = new Runtime({ agents: [lead], engine });
  await runtime.start(lead, "go");
  await eventually("it is refused", () => thrown.length > 0);
  expect(thrown[0]).toBeInstanceOf(IncompatibleVersionError);
  expect(thrown[0]).toMatchObject({ wanted: String(protocolNumber + 1), present: String(protocolNumber) });
});
