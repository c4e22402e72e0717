import type { Artifact, Message, Part, Task, TaskStatus } from "@a2a-js/sdk";
import { isJsonObject, type Json, type SentResult } from "#kernel";
import type { MountedRun } from "#server";
import type { A2aPackage } from "./a2a-package.ts";

const withheldText = "the result is not shown: the key lacks the scope content";

/** Reads a tree as a task. */
export async function readTask(sdk: A2aPackage, run: MountedRun): Promise<Task> {
  const result = await run.resultNow();
  const status = result ? toEndStatus(sdk, run, result) : await readStatus(sdk, run);
  const artifacts = result ? toArtifacts(result) : [];
  return { id: run.treeId, contextId: run.treeId, status, artifacts, history: [], metadata: undefined };
}

/** Reads the status of a tree that goes on. */
async function readStatus(sdk: A2aPackage, run: MountedRun): Promise<TaskStatus> {
  const { TaskState } = sdk.core;
  const questions = await run.questions();
  if (questions.length > 0) {
    const parts = questions.map(({ id, tool, why, arguments: given, asks, withheld }) => {
      const wants = asks ? "answer" : "decision";
      return toPart({ approval: id, tool, why, ...(withheld ? { withheld } : { arguments: given }), wants });
    });
    const message = toTaskMessage(sdk, run, `question-${questions[0]?.id}`, parts);
    return toStatus(TaskState.TASK_STATE_INPUT_REQUIRED, message);
  }
  const isPending = (await run.status()) === "pending";
  return toStatus(isPending ? TaskState.TASK_STATE_SUBMITTED : TaskState.TASK_STATE_WORKING, undefined);
}

/** Returns the status of a tree that is over. */
export function toEndStatus(sdk: A2aPackage, run: MountedRun, result: SentResult): TaskStatus {
  const { TaskState } = sdk.core;
  const { status, withheld } = result;
  const toMessage = (text: string): Message => toTaskMessage(sdk, run, "end", [toPart(text)]);
  if (status === "completed" || status === "landed")
    return toStatus(TaskState.TASK_STATE_COMPLETED, withheld && toMessage(withheldText));
  const message = toMessage(run.describeEnd(result));
  const state = status === "cancelled" ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_FAILED;
  return toStatus(state, message);
}

/** Returns the output of a tree as artifacts: one, or none. */
export function toArtifacts({ output }: SentResult): Artifact[] {
  if (output === null || output === undefined) return [];
  const parts = [toPart(output)];
  return [
    { artifactId: "result", name: "result", description: "", parts, metadata: undefined, extensions: [] },
  ];
}

const toStatus = (state: TaskStatus["state"], message: Message | undefined): TaskStatus => ({
  state,
  message,
  timestamp: undefined,
});

/** A text is a text part, everything else data. */
const toPart = (value: Json): Part => ({
  content:
    typeof value === "string"
      ? { $case: "text", value }
      : { $case: "data", value: isJsonObject(value) ? value : { value } },
  metadata: undefined,
  filename: "",
  mediaType: typeof value === "string" ? "text/plain" : "application/json",
});

/** Creates a message of the agent. Its id is derived from the tree, so it is the same on each read. */
const toTaskMessage = (
  { core }: A2aPackage,
  { treeId }: MountedRun,
  name: string,
  parts: Part[],
): Message => ({
  messageId: `${treeId}.${name}`,
  contextId: treeId,
  taskId: treeId,
  role: core.Role.ROLE_AGENT,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});
