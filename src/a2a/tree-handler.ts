// Trees as tasks of A2A.
// Job: answer the requests of one caller. A message starts a tree or answers its question; a task is read from its
// tree.
// Above it: a2a-server, which has the package decode and encode. Below it: the call of the mount.
// Invariants:
// 1. Nothing is stored here: the id of a task is the id of its tree, which any process finds.
// 2. A tree of another caller does not exist for this one. The key alone determines the tenant and the user.
// 3. Internal errors reveal no details.
import type { SendMessageRequest, StreamResponse } from "@a2a-js/sdk";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { NotFoundError, ReeveError, type Agent } from "#kernel";
import { safeMessage } from "#base";
import type { MountedCall, MountedRun } from "#server";
import type { A2aPackage } from "./a2a-package.ts";
import { chooseAgent, readDecision, readMessage, readMessageText } from "./read-message.ts";
import { readTask, toArtifacts, toEndStatus } from "./to-task.ts";

/** One request of one caller. */
export interface TreeHandlerDeps {
  readonly sdk: A2aPackage;
  readonly call: MountedCall;
  readonly agents: readonly Agent[];
  readonly card: Awaited<ReturnType<A2ARequestHandler["getAgentCard"]>>;
  /** Seconds that a message waits for its tree. */
  readonly waitS: number;
  /** Aborted when the reader of a stream disconnects. */
  readonly signal: AbortSignal;
}

/** Creates the handler of one request. */
export function createTreeHandler(deps: TreeHandlerDeps): A2ARequestHandler {
  const { sdk, card, waitS } = deps;
  const refuseUnsupported = (what: string) => async (): Promise<never> => {
    throw new sdk.errors.UnsupportedOperationError(`${what} is not supported`);
  };
  const noPush = async (): Promise<never> => {
    throw new sdk.errors.PushNotificationNotSupportedError("push notifications are not supported");
  };
  return {
    getAgentCard: async () => card,
    getAuthenticatedExtendedAgentCard: refuseUnsupported("an extended card"),
    listTasks: refuseUnsupported("a list of tasks"),
    createTaskPushNotificationConfig: noPush,
    getTaskPushNotificationConfig: noPush,
    listTaskPushNotificationConfigs: noPush,
    deleteTaskPushNotificationConfig: noPush,
    sendMessage: (request) =>
      translateErrors(sdk, async () => {
        const run = await takeMessage(deps, request);
        if (!request.configuration?.returnImmediately) await run.wait(waitS);
        return readTask(sdk, run);
      }),
    getTask: ({ id }) => translateErrors(sdk, async () => readTask(sdk, await find(deps, id))),
    cancelTask: ({ id }) =>
      translateErrors(sdk, async () => {
        const run = await find(deps, id);
        if (await run.resultNow()) throw new sdk.errors.TaskNotCancelableError(`task ${id} has ended`);
        await run.cancel();
        await run.wait(waitS);
        return readTask(sdk, run);
      }),
    sendMessageStream: async function* (request) {
      const run = await translateErrors(sdk, () => takeMessage(deps, request));
      yield* watchTask(deps, run);
    },
    resubscribe: async function* ({ id }) {
      const run = await translateErrors(sdk, async () => {
        const found = await find(deps, id);
        if (await found.resultNow())
          throw new sdk.errors.UnsupportedOperationError(`task ${id} has ended: use tasks/get`);
        return found;
      });
      yield* watchTask(deps, run);
    },
  };
}

/** Finds a tree of the caller. @throws NotFoundError */
const find = async ({ call, agents }: TreeHandlerDeps, id: string): Promise<MountedRun> =>
  (await call.find(id, agents)).run;

/** Starts a tree for a message, or answers the question of the tree that it names. */
async function takeMessage(deps: TreeHandlerDeps, request: SendMessageRequest): Promise<MountedRun> {
  const { sdk, call, agents } = deps;
  const { UnsupportedOperationError } = sdk.errors;
  if (request.configuration?.taskPushNotificationConfig)
    throw new sdk.errors.PushNotificationNotSupportedError("push notifications are not supported");
  const message = readMessage(sdk, request);
  const { taskId, contextId } = message;
  if (taskId === "") {
    if (contextId !== "")
      throw new UnsupportedOperationError("a context has exactly one task: remove contextId to start a task");
    return call.start(chooseAgent(sdk, agents, message), readMessageText(sdk, message));
  }
  const run = await find(deps, taskId);
  if (contextId !== "" && contextId !== taskId) throw new NotFoundError({ what: "run", id: taskId });
  const questions = await run.questions();
  if (questions.length === 0) throw new UnsupportedOperationError(`task ${taskId} has no open question`);
  await run.decide(readDecision(sdk, message, questions));
  return run;
}

/** Yields a task, then each change, until it ends or asks a question. */
async function* watchTask(
  deps: TreeHandlerDeps,
  run: MountedRun,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { sdk, signal } = deps;
  const { TASK_STATE_INPUT_REQUIRED: asks } = sdk.core.TaskState;
  const first = await translateErrors(sdk, () => readTask(sdk, run));
  yield { payload: { $case: "task", value: first } };
  let last = first.status?.state;
  if (last === asks || first.artifacts.length > 0) return;
  const named = { taskId: run.treeId, contextId: run.treeId, metadata: undefined };
  for await (const _ of run.changes(signal)) {
    const { status } = await translateErrors(sdk, () => readTask(sdk, run));
    if (status === undefined || status.state === last) continue;
    last = status.state;
    yield { payload: { $case: "statusUpdate", value: { ...named, status } } };
    if (last === asks) return;
  }
  const result = await translateErrors(sdk, () => run.result());
  for (const artifact of toArtifacts(result))
    yield {
      payload: { $case: "artifactUpdate", value: { ...named, artifact, append: false, lastChunk: true } },
    };
  const status = toEndStatus(sdk, run, result);
  yield { payload: { $case: "statusUpdate", value: { ...named, status } } };
}

/** Turns an error into one of the protocol. */
async function translateErrors<Value>({ errors }: A2aPackage, body: () => Promise<Value>): Promise<Value> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof errors.A2AError) throw error;
    if (error instanceof NotFoundError) throw new errors.TaskNotFoundError("no such task");
    if (ReeveError.is(error)) throw new errors.UnsupportedOperationError(safeMessage(error));
    throw new errors.A2AError("internal error");
  }
}
