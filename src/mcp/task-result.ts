import type { JSONRPCMessage } from "@modelcontextprotocol/client";

/** The name of the extension, in the capabilities of both sides. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The field of a result that carries its task, once it has passed the client package. */
export const taskKey = "reeve/task";

/**
 * Marks a result that is a task as complete: the client package does not support tasks and refuses their results.
 * Called with each message before the package reads it.
 */
export function markTask(message: JSONRPCMessage): void {
  if (!("result" in message)) return;
  const { result } = message;
  const task = result["resultType"] === "task" ? { ...result } : result["task"];
  if (typeof task !== "object" || task === null || !("taskId" in task)) return;
  delete result["task"];
  Object.assign(result, { resultType: "complete", content: [], _meta: { [taskKey]: task } });
}
