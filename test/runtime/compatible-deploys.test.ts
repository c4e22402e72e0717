import {
  AgentId,
  ChatMessage,
  Json,
  type Agent,
  type EffectTool,
  type Guardrail,
  type Model,
  type RunTool,
} from "#kernel";
import { agent, agentVersion } from "#agents";
import { Runtime, type RuntimeOptions } from "#runtime";
import { local } from "reeve/engines/local";
import { eventually } from "../../src/testing/engine-suite/harness.ts";
import { expect, test } from "vitest";
import { z } from "zod";

const input: EffectTool<Json>["input"] = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: Json.of(value) }) },
};

const send: EffectTool<Json> = {
  name: "send",
  description: "sends an e-mail",
  risk: "high",
  input,
  execute: async () => "sent",
};

const look: EffectTool<Json> = { ...send, name: "look", risk: "safe", execute: async () => "seen" };

const plan: RunTool<Json> = {
  name: "plan",
  description: "plans in a step",
  risk: "safe",
  input,
  run: (ctx) => ctx.step("think", () => "a plan"),
};

const modelOf = (id: string): Model => ({
  id,
  price: { input: 1, output: 1 },
  generate: async () => ({
    message: ChatMessage.assistant("ok"),
    usage: { input: 1, output: 1 },
    finishReason: "stop",
  }),
});

/** Meets every layer before it waits, and again after it. */
const writer = (rest: Omit<Agent, "id" | "run"> = {}): Agent => ({
  id: AgentId.of("writer"),
  model: modelOf("model-of-monday"),
  tools: [send, look, plan],
  async run(ctx) {
    const meet = async (): Promise<void> => {
      await ctx.checkGuardrails("input", "write to ada");
      await ctx.llm([ChatMessage.user("write to ada")]);
      await ctx.tool("look", "around");
      await ctx.tool("plan", "an e-mail");
      await ctx.tool("send", "an e-mail");
      await ctx.checkGuardrails("output", "dear ada");
    };
    await meet();
    await ctx.waitFor("go");
    await meet();
    return "done";
  },
  ...rest,
});

type Deployed = Omit<RuntimeOptions, "engine" | "agents"> & { readonly agent?: Omit<Agent, "id" | "run"> };

/** Starts a run under one configuration, deploys another one while it waits, and returns how the run ends. */
async function deploy(before: Deployed, after: Deployed, waitsFor: "approval" | "signal"): Promise<unknown> {
  // Replays after every operation, as another worker would.
  await using engine = local({ replayEveryStep: true });
  const serve = ({ agent: rest, ...options }: Deployed): Runtime =>
    new Runtime({ approver: "human", ...options, agents: [writer(rest)], engine });
  const old = serve(before);
  const [writerBefore = writer()] = old.agents;
  const run = await old.start(writerBefore, "go");
  const isAsked = async (): Promise<boolean> => (await run.approvals()).some(({ decision }) => !decision);
  const approve = async (): Promise<void> => {
    for (const { id, decision } of await run.approvals())
      if (!decision) await run.approve(id, { by: "ada" }).catch(() => undefined);
  };
  await eventually("the run waits", async () => {
    if (waitsFor === "signal") await approve();
    return (await run.status()) === "waiting" && (await isAsked()) === (waitsFor === "approval");
  });
  serve(after);
  await run.signal("go");
  const over = run.result();
  let isOver = false;
  void over.then(() => (isOver = true));
  await eventually("the run ends", async () => {
    await approve();
    return isOver;
  });
  const { status, error, output } = await over;
  return { status, code: error?.code, output };
}

const guardrail: Guardrail = {
  name: "watch",
  onInput: () => ({ kind: "allow" }),
  afterCall: () => ({ kind: "allow" }),
  onOutput: () => ({ kind: "allow" }),
};
const approver = (): { readonly decision: "approved" } => ({ decision: "approved" });
const layer = { process: async (_: unknown, next: () => Promise<void>) => next() };

const changes: readonly (readonly [what: string, before: Deployed, after: Deployed])[] = [
  ["another model", {}, { agent: { model: modelOf("model-of-tuesday") } }],
  ["a shorter expiry of questions", { approvalExpiresS: 86_400 }, { approvalExpiresS: 43_200 }],
  ["code that decides instead of people", {}, { approver }],
  ["people who decide instead of code", { approver }, {}],
  ["no rule of two", {}, { ruleOfTwo: "off" }],
  ["a guardrail of the runtime more", {}, { guardrails: [guardrail] }],
  ["a guardrail of the agent less", { agent: { policy: { guardrails: [guardrail] } } }, {}],
  ["function middleware more", {}, { agent: { policy: { function: [layer] } } }],
  ["function middleware less", { agent: { policy: { function: [layer] } } }, {}],
  ["a tool that is idempotent now", {}, { agent: { tools: [send, { ...look, idempotent: true }, plan] } }],
  [
    "a tool that is not idempotent now",
    { agent: { tools: [send, { ...look, idempotent: true }, plan] } },
    {},
  ],
  ["another risk of a tool", {}, { agent: { tools: [{ ...send, risk: "critical" }, look, plan] } }],
];

test.each(
  changes.flatMap(([what, before, after]) =>
    (["approval", "signal"] as const).map((at) => [what, at, before, after] as const),
  ),
)(
  "5.6 a run goes on after a deploy with %s, made while it waits for its %s",
  async (_, at, before, after) => {
    const waitsFor = before.approver ? "signal" : at;
    expect(await deploy(before, after, waitsFor)).toEqual({
      status: "completed",
      code: undefined,
      output: "done",
    });
  },
);

test("an agent's default version is a hash of its tools, and of nothing that a run survives", () => {
  const search = { ...look, name: "search", input: z.object({ query: z.string() }) };
  const base = { name: "lead", model: modelOf("one"), tools: [look, send] };
  const version = agentVersion(agent(base));
  const same = [
    agent({ ...base, instructions: "Be kind.", model: modelOf("two") }),
    agent({ ...base, tools: [send, { ...look, description: "looks", idempotent: true, risk: "high" }] }),
    agent({ ...base, description: "leads", budget: { maxTokens: 1 }, guardrails: [guardrail] }),
  ];
  const others = [
    agent({ ...base, tools: [look] }),
    agent({ ...base, tools: [look, send, plan] }),
    agent({ ...base, tools: [look, { ...plan, name: "send" }] }),
    agent({ ...base, tools: [look, send, search] }),
    agent({ ...base, tools: [look, send, { ...search, input: z.object({ query: z.number() }) }] }),
    agent({ ...base, output: z.object({ title: z.string() }) }),
    agent({ ...base, continueAfter: 100 }),
  ].map(agentVersion);
  expect(same.map(agentVersion)).toEqual([version, version, version]);
  expect(new Set([version, ...others]).size).toBe(8);
  expect(agentVersion(agent({ ...base, version: "7" }))).toBe("7");
});
