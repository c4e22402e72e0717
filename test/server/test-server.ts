import { agent, type Agent, AgentId, createRuntime, type Json, type Model, type Runtime, tool } from "reeve";
import { type ApiKeyRecord } from "reeve/store";
import { apiKeys, createApiKey, listen, type Listener, type ListenOptions, type Scope } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { ask, type Question, type Reply } from "./ask.ts";

export const sendEmail = tool({
  name: "send_email",
  description: "Send an email",
  input: z.object({ to: z.string() }),
  risk: "high",
  execute: async ({ to }) => `sent to ${to}`,
});

/** Asks for approval before an email is sent. */
export const approvalAgent = (
  model: Model = scriptedModel([call("send_email", { to: "team" }), say("sent it")]),
): Agent =>
  agent({
    name: "writer",
    description: "Sends emails",
    model,
    tools: [sendEmail],
    permissions: { decide: () => "ask" },
  });

/** Waits for a signal, then reports how often it was asked to count. */
export const counter: Agent = {
  id: AgentId.of("counter"),
  run: async (ctx) => {
    const told: Json = await ctx.waitFor("count");
    for (let n = 0; n < Number(told); n += 1) await ctx.emit({ n });
    return "counted";
  },
};

export const inAYear = Date.now() + 365 * 24 * 60 * 60 * 1000;

/** A key of each scope. */
function keysOf(tenant: string): {
  readonly keys: Readonly<Record<Scope, string>>;
  readonly records: readonly ApiKeyRecord[];
} {
  const of = (scope: Scope) => createApiKey({ tenant, scopes: [scope], expiresAt: inAYear });
  const [read, run, approve, admin] = [of("read"), of("run"), of("approve"), of("admin")];
  const trusted = of("act-for-users");
  const content = createApiKey({ tenant, scopes: ["read", "content"], expiresAt: inAYear });
  return {
    keys: {
      read: read.key,
      run: run.key,
      approve: approve.key,
      admin: admin.key,
      content: content.key,
      "act-for-users": trusted.key,
    },
    records: [read, run, approve, admin, content, trusted].map(({ record }) => record),
  };
}

/** A server that listens, with two tenants that each have keys. */
export class TestServer implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly keys: Readonly<Record<"acme" | "rival", Readonly<Record<Scope, string>>>>;
  readonly #listener: Listener;

  private constructor(runtime: Runtime, listener: Listener, keys: TestServer["keys"]) {
    this.runtime = runtime;
    this.#listener = listener;
    this.keys = keys;
  }

  static async open(
    options: Partial<ListenOptions> & { readonly agents?: readonly Agent[] } = {},
  ): Promise<TestServer> {
    const { agents = [approvalAgent(), counter], ...rest } = options;
    const runtime = rest.runtime ?? createRuntime({ agents, store: memoryStore(), approver: "human" });
    const [acme, rival] = [keysOf("acme"), keysOf("rival")];
    const auth = apiKeys([...acme.records, ...rival.records]);
    const listener = await listen({ port: 0, auth, ...rest, runtime });
    return new TestServer(runtime, listener, { acme: acme.keys, rival: rival.keys });
  }

  get url(): string {
    return this.#listener.url;
  }

  /** With acme's administrator key by default. */
  get(path: string, question: Question = {}): Promise<Reply> {
    return ask(this.url + path, "GET", { key: this.keys.acme.admin, ...question });
  }

  post(path: string, body: object = {}, question: Question = {}): Promise<Reply> {
    return ask(this.url + path, "POST", { key: this.keys.acme.admin, body, ...question });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener[Symbol.asyncDispose]();
    await this.runtime[Symbol.asyncDispose]();
  }
}
