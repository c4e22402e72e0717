// Agents as tools of an MCP server.
//
// Job: answer each request with a server of its own, whose tools start trees and ask after them, as the caller may.
//
// Invariants:
// 1. Keys, scopes, tenants, users and limits are those of the server that it is mounted in.
// 2. A call that takes longer than its answer may goes on, and its id is the answer: the tree outlives every connection.
// 3. The state that a client brings back names a tree, which is looked up as the caller's own.
import { randomUUID } from "node:crypto";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { AgentId, isJsonObject, TreeId, type Agent, type JsonObject, type RunResult } from "#kernel";
import { loadWithPackages, safeMessage, valueText } from "#base";
import { jsonSchemaOf } from "#agents";
import type { RunHandle } from "#runtime";
import type { MountedCall, MountedDecision, ServerMount } from "#server";

/** Agents that are offered as tools. */
export interface McpServerOptions {
  readonly agents: readonly Agent[];
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** The name of the server. Default reeve. */
  readonly name?: string | undefined;
  /** Seconds that a call waits for its tree before it answers with the id. Default 20. */
  readonly waitS?: number | undefined;
}

const importServer = () => import("@modelcontextprotocol/server");

type ServerPackage = Awaited<ReturnType<typeof importServer>>;

/** Offers agents as tools of an MCP server, for `serverApp({ mounts })` or `listen({ mounts })`. */
export function mcpServer(options: McpServerOptions): ServerMount {
  return {
    path: options.path ?? "/mcp",
    scope: "run",
    handle: async (call) => {
      const sdk = await loadWithPackages(
        "the MCP server",
        { "@modelcontextprotocol/server": importServer },
        importServer,
      );
      const handler = sdk.createMcpHandler(() => createServer(sdk, call, options), {
        maxSubscriptions: 0,
      });
      const response = await handler.fetch(call.request, { parsedBody: call.body });
      // Read to its end here, so that the caller's place is held as long as the work lasts.
      const text = await response.text();
      return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
    },
  };
}

function createServer(sdk: ServerPackage, call: MountedCall, options: McpServerOptions): McpServer {
  const server = new sdk.McpServer(
    { name: options.name ?? "reeve", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  const waitS = Math.min(options.waitS ?? 20, call.answerS * 0.8);
  for (const agent of options.agents) addAgent({ sdk, server, call, waitS }, agent);
  addRunTools({ sdk, server, call, waitS }, options.agents);
  return server;
}

interface ToolDeps {
  readonly sdk: ServerPackage;
  readonly server: McpServer;
  readonly call: MountedCall;
  readonly waitS: number;
}

function addAgent({ sdk, server, call, waitS }: ToolDeps, agent: Agent): void {
  const schema = outputSchemaOf(agent);
  const task = { type: "object", properties: { task: { type: "string" } }, required: ["task"] };
  server.registerTool(
    AgentId.type(agent.id),
    {
      description: agent.description ?? `Has the agent ${AgentId.type(agent.id)} do a task.`,
      inputSchema: sdk.fromJsonSchema<{ readonly task: string }>(task),
      ...(schema && { outputSchema: sdk.fromJsonSchema(withRun(schema)) }),
    },
    ({ task: given }) =>
      asAnswer(async () => {
        const run = await call.start(agent, given, TreeId.of(randomUUID()));
        return waitFor(call, run, waitS);
      }),
  );
}

/** Tools for trees that go on after their call. */
function addRunTools({ sdk, server, call, waitS }: ToolDeps, agents: readonly Agent[]): void {
  const id = { type: "string", description: "The id of the run" };
  const named = { type: "object", properties: { id }, required: ["id"] };
  const schema = sdk.fromJsonSchema<{ readonly id: string }>(named);
  const find = async (text: string): Promise<RunHandle> => (await call.find(text, agents)).run;
  server.registerTool(
    "get_run",
    { description: "Waits for a run, and returns its result or its state.", inputSchema: schema },
    ({ id: text }) => asAnswer(async () => waitFor(call, await find(text), waitS)),
  );
  server.registerTool("cancel_run", { description: "Cancels a run.", inputSchema: schema }, ({ id: text }) =>
    asAnswer(async () => {
      const run = await find(text);
      await run.cancel();
      return waitFor(call, run, waitS);
    }),
  );
  if (!call.mayDo("approve")) return;
  const answer = {
    ...named,
    properties: {
      id,
      approval: { type: "string" },
      decision: { type: "string", enum: ["approved", "denied", "edited"] },
      arguments: { type: "object" },
    },
    required: ["id", "approval", "decision"],
  };
  server.registerTool(
    "answer_run",
    {
      description: "Decides about a question of a run: approved, denied, or edited with other arguments.",
      inputSchema: sdk.fromJsonSchema<AnswerInput>(answer),
    },
    (given) =>
      asAnswer(async () => {
        const run = await find(given.id);
        await call.decide(run, given);
        return waitFor(call, run, waitS);
      }),
  );
}

interface AnswerInput extends MountedDecision {
  readonly id: string;
}

/** Waits for the end of a tree. One that goes on, or asks, is described. */
async function waitFor(call: MountedCall, run: RunHandle, waitS: number): Promise<CallToolResult> {
  const asked = async (): Promise<readonly JsonObject[]> =>
    (await call.questions(run)).map(({ id, tool, why, arguments: given }) => ({
      id,
      tool,
      why,
      arguments: given,
    }));
  const result = await call.wait(run, waitS);
  if (result) return toAnswer(run, result);
  const state = { id: run.treeId, status: await run.status(), questions: await asked() };
  const advice = "The run goes on. Call get_run with its id; answer its questions with answer_run.";
  return {
    content: [{ type: "text", text: `${advice}\n${JSON.stringify(state)}` }],
    structuredContent: { run: state },
  };
}

function toAnswer(run: RunHandle, { status, output, error }: RunResult): CallToolResult {
  const state = { id: run.treeId, status };
  if (status !== "completed" && status !== "landed") {
    const text = `the run ended as ${status}${error ? `: ${error.message}` : ""}`;
    return { content: [{ type: "text", text }], structuredContent: { run: state }, isError: true };
  }
  const value = output ?? null;
  const text = valueText(value);
  const structured = isJsonObject(value) ? { ...value, run: state } : { run: state };
  return { content: [{ type: "text", text }], structuredContent: structured };
}

/** An error that the caller may know is an answer. */
async function asAnswer(body: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await body();
  } catch (error) {
    return { content: [{ type: "text", text: safeMessage(error) }], isError: true };
  }
}

/** Returns the JSON Schema of an agent's output, if that is an object. */
function outputSchemaOf(agent: Agent): JsonObject | null {
  const output: unknown = "output" in agent ? agent.output : null;
  if (!isSchema(output)) return null;
  const schema = jsonSchemaOf(output);
  return schema["type"] === "object" && isJsonObject(schema["properties"]) ? schema : null;
}

const isSchema = (value: unknown): value is StandardSchemaV1 =>
  typeof value === "object" && value !== null && "~standard" in value;

/** A result may also say that the run goes on: then it has no output, so nothing of it is required. */
function withRun(schema: JsonObject): JsonObject {
  const { required: _, additionalProperties: __, properties, ...rest } = schema;
  return {
    ...rest,
    properties: { ...(isJsonObject(properties) ? properties : {}), run: { type: "object" } },
  };
}
