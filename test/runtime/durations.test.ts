import {
  agent,
  AgentId,
  cache,
  createRuntime,
  HookManager,
  retry,
  timeout,
  tool,
  type Agent,
  type CreateRuntimeOptions,
  type Guardrail,
} from "reeve";
import { restate } from "reeve/engines/restate";
import { createApiKey, serverApp, type ServerOptions } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const model = scriptedModel([say("done")]);
const lead: Agent = { id: AgentId.of("lead"), run: async () => null };
const guardrailWith = (timeoutS: number): Guardrail => ({ name: "guard", timeoutS });

const given: Readonly<Record<string, (duration: number) => unknown>> = {
  approvalExpiresS: (approvalExpiresS) => runtimeWith({ approvalExpiresS }),
  yieldTimeoutS: (yieldTimeoutS) => runtimeWith({ yieldTimeoutS }),
  cancelGraceS: (cancelGraceS) => runtimeWith({ cancelGraceS }),
  eraseAfterS: (eraseAfterS) => runtimeWith({ eraseAfterS }),
  priorityAgingMs: (priorityAgingMs) => runtimeWith({ priorityAgingMs }),
  sweepEveryS: (sweepEveryS) => runtimeWith({ sweepEveryS }),
  "timeoutS of guardrail guard": (timeoutS) => runtimeWith({ guardrails: [guardrailWith(timeoutS)] }),
  "timeoutS of guardrail guard, of an agent": (timeoutS) =>
    runtimeWith({ agents: [{ ...lead, policy: { guardrails: [guardrailWith(timeoutS)] } }] }),
  "baseMs of an agent": (baseMs) => runtimeWith({ agents: [{ ...lead, policy: { retry: { baseMs } } }] }),
  "deadlineS of an agent": (deadlineS) => runtimeWith({ agents: [{ ...lead, budget: { deadlineS } }] }),
  "deadlineS of a start": (deadlineS) => runtimeWith({}).start(lead, "go", { deadlineS }),
  "deadlineS of a start's budget": (deadlineS) =>
    runtimeWith({}).start(lead, "go", { budget: { deadlineS } }),
  graceMs: (graceMs) => runtimeWith({}).drain({ graceMs }),
  "baseMs of an agent that is built": (baseMs) => agent({ name: "lead", model, retry: { baseMs } }),
  askTimeoutS: (askTimeoutS) => agent({ name: "lead", model, team: [{ agent: lead, askTimeoutS }] }),
  timeoutS: (timeoutS) =>
    tool({ name: "t", description: "", input: anything, risk: "safe", timeoutS, execute: async () => null }),
  "baseMs of a layer": (baseMs) => retry({ baseMs }),
  "timeout.seconds": (seconds) => timeout({ seconds }),
  ttlS: (ttlS) => cache({ ttlS }),
  timeoutMs: (timeoutMs) => new HookManager({ timeoutMs }),
  connectTimeoutMs: (connectTimeoutMs) =>
    restate({ ingress: "http://127.0.0.1:1", admin: "http://127.0.0.1:1", connectTimeoutMs }),
  requestTimeoutMs: (requestTimeoutMs) => serverWith({ requestTimeoutMs }),
  writeTimeoutMs: (writeTimeoutMs) => serverWith({ writeTimeoutMs }),
  heartbeatS: (heartbeatS) => serverWith({ heartbeatS }),
  expiresAt: (expiresAt) => createApiKey({ tenant: null, scopes: ["read"], expiresAt }),
};

const anything = {
  "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
} as const;

const runtimeWith = (options: Partial<CreateRuntimeOptions>): ReturnType<typeof createRuntime> =>
  createRuntime({ agents: [lead], ...options });

const serverWith = (limits: NonNullable<ServerOptions["limits"]>): unknown =>
  serverApp({ runtime: runtimeWith({ store: memoryStore() }), auth: "none", limits });

test.each(Object.keys(given))("%s out of range is refused where it is given", async (name) => {
  const [field = ""] = name.split(/ of a| of a |, /);
  for (const value of [Number.NaN, Infinity, -Infinity])
    await expect((async () => given[name]?.(value))()).rejects.toThrow(
      new RegExp(`^${field} must be a .*, got ${value}$`),
    );
});
