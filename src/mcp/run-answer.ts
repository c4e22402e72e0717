import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject, type RunResult } from "#kernel";
import { valueText } from "#base";
import type { RunHandle } from "#runtime";

/** Converts the result of a tree into that of the call of its tool. */
export function toAnswer(run: RunHandle, result: RunResult): CallToolResult {
  const { status, output } = result;
  const state = { id: run.treeId, status };
  if (status !== "completed" && status !== "landed") {
    const text = endText(result);
    return { content: [{ type: "text", text }], structuredContent: { run: state }, isError: true };
  }
  const value = output ?? null;
  const text = valueText(value);
  const structured = isJsonObject(value) ? { ...value, run: state } : { run: state };
  return { content: [{ type: "text", text }], structuredContent: structured };
}

/** Describes the end of a tree without a result. */
export const endText = ({ status, error }: RunResult): string =>
  `the run ended with status ${status}${error ? `: ${error.message}` : ""}`;
