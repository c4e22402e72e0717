// Agents as tools of an MCP server.
//
// Job: answer each request with its own server instance, whose tools start trees and read their state with the rights
// of the caller.
//
// Invariants:
// 1. Keys, scopes, tenants, users and limits are those of the server it is mounted in.
// 2. A call that outlasts its response continues, and the response is its id: the tree outlives every connection.
// 3. The state that a client returns names a tree, which is looked up with the caller's rights.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { AgentId, isJsonObject, type Agent, type JsonObject, type Labels } from "#kernel";
import { safeMessage } from "#base";
import { jsonSchemaOf } from "#agents";
import type { MountedCall, MountedDecision, MountedRun, ServerMount } from "#server";
import { toAnswer } from "./run-answer.ts";
import { loadServerPackage, type ServerPackage } from "./server-package.ts";
import { ServerTasks } from "./server-tasks.ts";
import { tasksExtension } from "./task-result.ts";

/** Agents that are offered as tools. */
export interface McpServerOptions {
  readonly agents: readonly Agent[];
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** The name of the server. Default reeve. */
  readonly name?: string | undefined;
  /** Seconds that a call waits for its tree before it answers with a task, or with the id of the tree. Default 20. */
  readonly waitS?: number | undefined;
  /** Labels of the tasks, as of the input of a start: `{ untrusted: true }` for clients that pass on texts of strangers. Default: none. */
  readonly labels?: Partial<Labels> | undefined;
}

/** Offers agents as tools of an MCP server, for `serverApp({ mounts })` or `listen({ mounts })`. */
export function mcpServer(options: McpServerOptions): ServerMount {
  return {
    path: options.path ?? "/mcp",
    scope: "run",
    labels: options.labels,
    handle: async (call) => {
      const sdk = await loadServerPackage();
      const faults: unknown[] = [];
      const onFault = (error: unknown): void => void faults.push(error);
      const handler = sdk.createMcpHandler(({ era }) => createServer({ sdk, call, options, onFault }, era), {
        maxSubscriptions: 0,
      });
      const response = await handler.fetch(call.request, { parsedBody: call.body });
      // Read to the end here, so that the caller's permit is held until the work is done.
      const text = await response.text();
      if (faults.length > 0) throw faults[0];
      return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
    },
  };
}

interface RequestDeps {
  readonly sdk: ServerPackage;
  readonly call: MountedCall;
  readonly options: McpServerOptions;
  readonly onFault: (error: unknown) => void;
}

/** Creates the server of one request. Tasks are an extension of the newer revision alone. */
function createServer({ sdk, call, options, onFault }: RequestDeps, era: "legacy" | "modern"): McpServer {
  const { agents, name = "reeve", waitS: longestS = 20 } = options;
  const tasks = era === "modern" ? new ServerTasks({ sdk, call, agents, onFault }) : null;
  const extensions = { [tasksExtension]: {} };
  const server = new sdk.McpServer(
    { name, version: "1.0.0" },
    { capabilities: { tools: {}, ...(tasks && { extensions }) } },
  );
  const waitS = Math.min(longestS, (call.requestTimeoutMs / 1000) * 0.8);
  const deps: ToolDeps = { sdk, server, call, agents, waitS, tasks };
  for (const agent of agents) addAgent(deps, agent);
  addRunTools(deps);
  tasks?.register(server);
  return server;
}

interface ToolDeps {
  readonly sdk: ServerPackage;
  readonly server: McpServer;
  readonly call: MountedCall;
  readonly agents: readonly Agent[];
  readonly waitS: number;
  /** Null: the client can have no tasks. */
  readonly tasks: ServerTasks | null;
}

function addAgent({ sdk, server, call, waitS, tasks }: ToolDeps, agent: Agent): void {
  const schema = outputSchemaOf(agent);
  const task = { type: "object", properties: { task: { type: "string" } }, required: ["task"] };
  server.registerTool(
    AgentId.type(agent.id),
    {
      description: agent.description ?? `Runs the agent ${AgentId.type(agent.id)} on a task.`,
      inputSchema: sdk.fromJsonSchema<{ readonly task: string }>(task),
      ...(schema && { outputSchema: sdk.fromJsonSchema(withRun(schema)) }),
    },
    ({ task: given }, context) =>
      asAnswer(async () => {
        const run = await call.start(agent, given);
        const result = await run.wait(waitS);
        if (result) return toAnswer(run, result);
        return tasks?.isTaken(context) ? tasks.answer(run, context) : describeRun(run);
      }),
  );
}

/** Tools for trees that go on after their call. */
function addRunTools(deps: ToolDeps): void {
  const { sdk, server, call, agents } = deps;
  const id = { type: "string", description: "The id of the run" };
  const named = { type: "object", properties: { id }, required: ["id"] };
  const schema = sdk.fromJsonSchema<{ readonly id: string }>(named);
  const find = async (text: string): Promise<MountedRun> => (await call.find(text, agents)).run;
  server.registerTool(
    "get_run",
    { description: "Waits for a run, and returns its result or its state.", inputSchema: schema },
    ({ id: text }) => asAnswer(async () => waitFor(deps, await find(text))),
  );
  server.registerTool("cancel_run", { description: "Cancels a run.", inputSchema: schema }, ({ id: text }) =>
    asAnswer(async () => {
      const run = await find(text);
      await run.cancel();
      return waitFor(deps, run);
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
      description: "Answers a question of a run: approved, denied, or edited with other arguments.",
      inputSchema: sdk.fromJsonSchema<AnswerInput>(answer),
    },
    (given) =>
      asAnswer(async () => {
        const run = await find(given.id);
        await run.decide(given);
        return waitFor(deps, run);
      }),
  );
}

interface AnswerInput extends MountedDecision {
  readonly id: string;
}

/** Waits for the end of a tree. One that goes on, or asks, is described. */
async function waitFor({ waitS }: ToolDeps, run: MountedRun): Promise<CallToolResult> {
  const result = await run.wait(waitS);
  return result ? toAnswer(run, result) : describeRun(run);
}

/** Describes a tree that goes on. */
async function describeRun(run: MountedRun): Promise<CallToolResult> {
  const questions = (await run.questions()).map(({ id, tool, why, arguments: given, withheld }) =>
    withheld ? { id, tool, why, withheld } : { id, tool, why, arguments: given },
  );
  const state = { id: run.treeId, status: await run.status(), questions };
  const advice = "The run continues. Call get_run with its id; answer its questions with answer_run.";
  return {
    content: [{ type: "text", text: `${advice}\n${JSON.stringify(state)}` }],
    structuredContent: { run: state },
  };
}

/** Converts errors that the caller may see into results. */
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

/** A result may instead report that the run continues, without output, so no property is required. */
function withRun(schema: JsonObject): JsonObject {
  const { required: _, additionalProperties: __, properties, ...rest } = schema;
  return {
    ...rest,
    properties: { ...(isJsonObject(properties) ? properties : {}), run: { type: "object" } },
  };
}
