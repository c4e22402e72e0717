import type { Approver } from "#kernel";
import { agent, tool, type FunctionMiddleware, type Guardrail, type Permissions } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import * as fc from "fast-check";
import { expect, test } from "vitest";

/** A value that reads differently every time: `make` is given a text that counts how often it was asked for. */
type Shifting = readonly [string, (make: () => string) => unknown];

class Letter {
  readonly #make: () => string;
  constructor(make: () => string) {
    this.#make = make;
  }
  get to(): string {
    return this.#make();
  }
  toJSON(): unknown {
    return { to: this.#make() };
  }
}

const getter = (make: () => string): object =>
  Object.defineProperty({}, "to", { get: make, enumerable: true, configurable: true });

/** Copied, so that all see the first reading. */
const copied: readonly Shifting[] = [
  ["a getter", getter],
  ["a getter below", (make) => ({ letter: [getter(make)] })],
  ["a proxy", (make) => new Proxy({ to: "" }, { get: (_, key) => (key === "to" ? make() : undefined) })],
  [
    "a proxy of a list",
    (make) => new Proxy([""], { get: (from, key) => (key === "0" ? make() : Reflect.get(from, key)) }),
  ],
  ["a getter without a prototype", (make) => Object.setPrototypeOf(getter(make), null)],
];

/** Refused, because a round trip through the journal would make something else of them. */
const refused: readonly Shifting[] = [
  ["an object of a class", (make) => new Letter(make)],
  ["an object with toJSON", (make) => ({ to: "a", toJSON: () => make() })],
  ["a date", () => new Date(0)],
  ["a map", (make) => new Map([["to", make()]])],
  ["bytes", () => new Uint8Array(3)],
  ["a function", (make) => ({ to: make })],
  ["a number that is none", () => ({ n: Number.NaN })],
  ["a big integer", () => ({ n: 1n })],
  ["a key of prototypes", () => JSON.parse('{"__proto__": {"admin": true}}')],
  [
    "a getter that throws",
    () => ({
      get to() {
        throw new Error("no");
      },
    }),
  ],
  ["a proxy that was revoked", () => revokedProxy()],
];

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const kinds = ["execute", "run"] as const;

interface Seen {
  readonly by: string;
  readonly text: string;
}

/** Calls a tool whose schema returns `value`, and collects what each observer saw, in order, as text. */
async function observe(value: unknown, kind: (typeof kinds)[number], verdict: "allow" | "ask") {
  const seen: Seen[] = [];
  const see = (by: string, input: unknown): void => void seen.push({ by, text: JSON.stringify(input) });
  const permissions: Permissions = { decide: ({ input }) => (see("permissions", input), verdict) };
  const guardrail: Guardrail = {
    name: "look",
    beforeCall: ({ input }) => (see("guardrail", input), { kind: "allow" }),
  };
  const approver: Approver = async ({ arguments: input }) => (
    see("approver", input),
    { decision: "approved" }
  );
  const layer: FunctionMiddleware = {
    process: async (context, next) => (see("middleware", context.arguments), next()),
  };
  const schema = { "~standard": { version: 1, vendor: "test", validate: () => ({ value }) } } as const;
  const act = (input: unknown): string => (see("tool", input), "sent");
  const common = { name: "send", description: "x", risk: "high", input: schema } as const;
  const send = tool(
    kind === "execute"
      ? { ...common, execute: act }
      : { ...common, run: (ctx, input) => ctx.step("send", () => act(input)) },
  );
  const model = scriptedModel([call("send", {}), say("done")]);
  const middleware = { function: [layer] };
  const writer = agent({
    name: "writer",
    model,
    tools: [send],
    permissions,
    guardrails: [guardrail],
    middleware,
  });
  await using t = testRuntime({ agents: [writer], approver, replay: false });
  await t.run(writer, "go");
  return { seen, shown: JSON.stringify(model.requests[1]?.messages.at(-1)) };
}

/** Returns a different value on each read. */
function counter(): () => string {
  let readings = 0;
  return () => `reading ${(readings += 1)}`;
}

const ways = kinds.flatMap((kind) => (["allow", "ask"] as const).map((verdict) => ({ kind, verdict })));

test.each(copied)("%s is read once: the checked value is executed", async (_, make) => {
  for (const { kind, verdict } of ways) {
    const { seen } = await observe(make(counter()), kind, verdict);
    const observers = new Set(seen.map(({ by }) => by));
    expect(observers).toEqual(
      new Set(["permissions", "guardrail", "middleware", "tool", ...(verdict === "ask" ? ["approver"] : [])]),
    );
    expect(new Set(seen.map(({ text }) => text)).size).toBe(1);
    expect(seen[0]?.text).toContain("reading 1");
  }
});

test.each(refused)("%s is refused before anything sees it", async (_, make) => {
  for (const { kind, verdict } of ways) {
    const { seen, shown } = await observe(make(counter()), kind, verdict);
    expect(seen).toEqual([]);
    expect(shown).toContain("bad input: ");
  }
});

/** Any plain value, without the one key that is refused everywhere. */
const plainValue = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"__proto__":'));

test("a plain value that a schema returns is executed exactly as it was checked", async () => {
  const property = fc.asyncProperty(plainValue, fc.constantFrom(...ways), async (value, way) => {
    const { seen } = await observe(value, way.kind, way.verdict);
    expect(seen.map(({ by }) => by)).toContain("tool");
    expect(new Set(seen.map(({ text }) => text))).toEqual(new Set([JSON.stringify(value)]));
  });
  await fc.assert(property, { numRuns: 40 });
});

test("nothing that sees the arguments can change them", async () => {
  const input = { to: "ann", list: [{ n: 1 }] };
  const tried: string[] = [];
  const change = (by: string, given: unknown): void => {
    const list: object = Reflect.get(Object(given), "list");
    expect(Reflect.set(Object(given), "to", by)).toBe(false);
    expect(Reflect.set(Object(Reflect.get(list, 0)), "n", 2)).toBe(false);
    expect(Reflect.set(list, 1, by)).toBe(false);
    tried.push(by);
  };
  const executed: unknown[] = [];
  const send = tool({
    name: "send",
    description: "x",
    risk: "high",
    input: { "~standard": { version: 1, vendor: "test", validate: () => ({ value: input }) } },
    execute: (given) => `${executed.push(given)}`,
  });
  const writer = agent({
    name: "writer",
    model: scriptedModel([call("send", {}), say("done")]),
    tools: [send],
    permissions: { decide: (request) => (change("permissions", request.input), "allow") },
    guardrails: [
      { name: "look", beforeCall: (given) => (change("guardrail", given.input), { kind: "allow" }) },
    ],
    middleware: {
      function: [
        {
          process: async (context, next) => {
            change("middleware", context.arguments);
            Reflect.set(context, "arguments", { to: "middleware" });
            // The schema's own object is another one.
            input.to = "schema";
            await next();
          },
        },
      ],
    },
  });
  await using t = testRuntime({ agents: [writer], replay: false });
  await t.run(writer, "go");
  expect(tried).toEqual(["permissions", "guardrail", "middleware"]);
  expect(executed).toEqual([{ to: "ann", list: [{ n: 1 }] }]);
});
