import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject, type SentResult } from "#kernel";
import { valueText } from "#base";
import type { MountedRun } from "#server";

const withheldText = "the run has completed, but its result is not shown: the key lacks the scope content";

/** Converts the result of a tree into that of the call of its tool. */
export function toAnswer(run: MountedRun, result: SentResult): CallToolResult {
  const { status, output, withheld } = result;
  const state = { id: run.treeId, status, ...(withheld && { withheld }) };
  if (status !== "completed" && status !== "landed") {
    const text = run.describeEnd(result);
    return { content: [{ type: "text", text }], structuredContent: { run: state }, isError: true };
  }
  if (withheld) return { content: [{ type: "text", text: withheldText }], structuredContent: { run: state } };
  const value = output ?? null;
  const text = valueText(value);
  const structured = isJsonObject(value) ? { ...value, run: state } : { run: state };
  return { content: [{ type: "text", text }], structuredContent: structured };
}
