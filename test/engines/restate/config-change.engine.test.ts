import { AgentId, createRuntime, Json, type Agent, type EffectTool, type Runtime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { eventually } from "./worker-process.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const send = (risk: EffectTool["risk"]): EffectTool<Json> => ({
  name: "send",
  description: "sends an e-mail",
  risk,
  input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: Json.of(value) }) } },
  execute: async () => "sent",
});

const writer = (risk: EffectTool["risk"]): Agent => ({
  id: AgentId.of("writer"),
  tools: [send(risk)],
  run: async (ctx) => ((await ctx.tool("send", { to: "ada" })).isError ? "refused" : "sent"),
});

async function serve(agent: Agent, approvalExpiresS: number, port: number): Promise<Runtime> {
  const engine = restate({ ...server, namespace: "config", log: () => {} });
  const runtime = createRuntime({ agents: [agent], engine, approver: "human", approvalExpiresS });
  await runtime.serve({ port, deltas: null });
  return runtime;
}

test("5.6 a run that waits for an approval goes on after a restart with another expiry and risk", async () => {
  const port = await freePort();
  const before = writer("high");
  const first = await serve(before, 86_400, port);
  const run = await first.start(before, "go", { id: "letter" });
  await eventually(async () => (await run.status()) === "waiting");
  const [question] = await run.approvals();
  await first[Symbol.asyncDispose]();
  await using second = await serve(writer("critical"), 43_200, port);
  await second.approvals.decide(question?.id ?? "", { decision: "approved", by: "ada" });
  expect((await second.run("letter").result()).output).toBe("sent");
});
