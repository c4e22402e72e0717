// Trees as tasks of MCP.
//
// Job: report to a client with the extension io.modelcontextprotocol/tasks that a call continues as a task, and answer
// its requests about tasks.
//
// Above it: mcp-server. Below it: the call of the mount.
//
// Invariants:
// 1. Nothing is stored here: the id of a task is the id of its tree, which any process finds.
// 2. A tree of another caller, or whose root agent is not offered here, does not exist for the caller.
// 3. Only a client that has declared the extension in the same request receives a task.
// 4. Only errors of the caller are answers. After any other error the request fails, so that the client retries.
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject, Json, ReeveError, type Agent, type SentApproval, type JsonObject } from "#kernel";
import { safeMessage } from "#base";
import type { MountedCall, MountedRun, MountedTree } from "#server";
import { toAnswer } from "./run-answer.ts";
import type { ServerPackage } from "./server-package.ts";
import { readResponse, toInputRequests } from "./server-questions.ts";
import { tasksExtension } from "./task-result.ts";

/** The poll interval given to a client is a tenth of the task's age, within these bounds. */
const minPollMs = 500;
const maxPollMs = 30_000;

/** Codes of errors that are answers to a request about a task. */
const answerCodes: ReadonlySet<string> = new Set(["not-found", "forbidden", "approval-refused"]);

/** The server object of one request. */
export interface ServerTasksDeps {
  readonly sdk: ServerPackage;
  readonly call: MountedCall;
  readonly agents: readonly Agent[];
  /** Takes an error that is not the caller's. */
  readonly onFault: (error: unknown) => void;
}

/** The tasks of one caller. */
export class ServerTasks {
  readonly #deps: ServerTasksDeps;

  constructor(deps: ServerTasksDeps) {
    this.#deps = deps;
  }

  /** Whether the client of a request takes a task for an answer. */
  isTaken(context: ServerContext): boolean {
    return has(this.#capability(context, "extensions"), tasksExtension);
  }

  /** Answers a call whose tree continues. */
  async answer(run: MountedRun, context: ServerContext): Promise<CallToolResult> {
    const tree = await this.#deps.call.find(run.treeId, this.#deps.agents);
    const { status } = await this.#read(tree, context);
    // The package requires structured content if the tool has an output schema.
    const structuredContent = { run: { id: run.treeId, status } };
    return { ...toTask(tree), status, resultType: "task", content: [], structuredContent };
  }

  /** Adds the three methods. */
  register({ server }: McpServer): void {
    const { sdk, call, agents } = this.#deps;
    const taskId = { type: "string" };
    const schemas = {
      params: sdk.fromJsonSchema<{ readonly taskId: string }>({
        type: "object",
        properties: { taskId },
        required: ["taskId"],
      }),
      result: sdk.fromJsonSchema<Record<string, unknown>>({ type: "object" }),
    };
    const add = (
      method: string,
      act: (tree: MountedTree, context: ServerContext) => Promise<JsonObject>,
    ): void =>
      server.setRequestHandler(method, schemas, (params, context) =>
        this.#answerOrRefuse(context, async () => act(await call.find(params.taskId, agents), context)),
      );
    add("tasks/get", (tree, context) => this.#read(tree, context));
    add("tasks/cancel", async ({ run }) => {
      await run.cancel();
      return {};
    });
    add("tasks/update", async ({ run }, { mcpReq }) => {
      await this.#update(run, mcpReq.inputResponses ?? {});
      return {};
    });
  }

  /** Reads a tree as a task. */
  async #read(tree: MountedTree, context: ServerContext): Promise<JsonObject & { readonly status: string }> {
    const { run } = tree;
    const task = toTask(tree);
    const result = await run.resultNow();
    if (result?.status === "cancelled")
      return { ...task, status: "cancelled", statusMessage: run.describeEnd(result) };
    // A call that ends with an error is completed: the protocol keeps `failed` for errors of its own.
    if (result) return { ...task, status: "completed", result: Json.of(toAnswer(run, result)) };
    const questions = await run.questions();
    const inputRequests = this.#mayAnswer(context) ? toInputRequests(questions) : {};
    if (Object.keys(inputRequests).length > 0) return { ...task, status: "input_required", inputRequests };
    const waits = questions.length > 0 && { statusMessage: "the run waits for a person's decision" };
    return { ...task, status: "working", ...waits };
  }

  /** Reads a capability that the client declared in a request. The package's type for it is empty. */
  #capability({ mcpReq }: ServerContext, name: string): JsonObject | null {
    const { CLIENT_CAPABILITIES_META_KEY: key } = this.#deps.sdk;
    const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
    const declared = Json.of(envelope[key] ?? null);
    const found = isJsonObject(declared) ? declared[name] : null;
    return isJsonObject(found) ? found : null;
  }

  /** Whether a caller may decide about questions, and its client can ask them. */
  #mayAnswer(context: ServerContext): boolean {
    const elicitation = this.#capability(context, "elicitation");
    const hasForms = elicitation !== null && (has(elicitation, "form") || !has(elicitation, "url"));
    return hasForms && this.#deps.call.mayDo("approve");
  }

  /** Decides about the questions that are still open. The other answers have no effect. */
  async #update(run: MountedRun, responses: Readonly<Record<string, unknown>>): Promise<void> {
    const answered = (await run.questions()).filter(({ id }) => Object.hasOwn(responses, id));
    for (const question of answered) await this.#decide(run, question, responses[question.id]);
  }

  async #decide(run: MountedRun, question: SentApproval, response: unknown): Promise<void> {
    const decision = readResponse(question, response);
    if (!decision) return;
    await run.decide(decision).catch(async (error: unknown) => {
      const isOpen = (await run.questions()).some(({ id }) => id === question.id);
      if (isOpen) throw error;
    });
  }

  /** Turns an error into one of the protocol. */
  async #answerOrRefuse(context: ServerContext, body: () => Promise<JsonObject>): Promise<JsonObject> {
    const { sdk, onFault } = this.#deps;
    if (!this.isTaken(context)) {
      const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
    }
    try {
      return await body();
    } catch (error) {
      const isAnswer = ReeveError.is(error) && answerCodes.has(error.code);
      if (!isAnswer) onFault(error);
      const isUnknown = isAnswer && error.code === "not-found";
      const text = isUnknown ? "no such task" : isAnswer ? safeMessage(error) : "internal error";
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, text);
    }
  }
}

const has = (fields: JsonObject | null, name: string): boolean => isJsonObject(fields?.[name]);

/** Returns the fields that every state of a task has. A tree that goes on changes at any time. */
function toTask({ run, root: { startedAt, endedAt } }: MountedTree): JsonObject {
  const now = Date.now();
  const pollMs = Math.round((now - startedAt) / 10);
  return {
    taskId: run.treeId,
    createdAt: new Date(startedAt).toISOString(),
    lastUpdatedAt: new Date(endedAt ?? now).toISOString(),
    ttlMs: null,
    pollIntervalMs: Math.max(minPollMs, Math.min(pollMs, maxPollMs)),
  };
}
