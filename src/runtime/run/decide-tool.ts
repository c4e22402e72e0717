import { Json, ToolRefusedError, type Tool } from "#kernel";
import { verdictOf } from "#agents";
import type { ToolHost } from "./tool-host.ts";
import { messageOf } from "./tool-outcome.ts";

/** What may be done about a call. */
type Decision = { readonly value: Json } | { readonly refusal: string };

/** Decoded, valid, and allowed: the value that was checked is the value that runs. */
export async function decide(host: ToolHost, tool: Tool, input: Json): Promise<Decision> {
  const checked = await validated(tool, input);
  if ("refusal" in checked) return checked;
  const { value } = checked;
  const { name, risk } = tool;
  const { agentId, scope } = host;
  const request = { tool: name, risk, input: value, agentId, runId: scope.runId, tenantId: scope.tenantId };
  const verdict = await verdictOf(host.policy.permissions ?? host.permissions, request);
  if (verdict === "allow") return checked;
  const why =
    verdict === "ask" ? `its risk is ${risk} and nobody is here to approve it` : "the policy denies it";
  return {
    refusal: `${new ToolRefusedError({ tool: name, reason: why }).message}; permissions: "allow-all" would allow it`,
  };
}

/** A schema is somebody's code: what it throws is a refusal like any other. */
async function validated({ input: schema }: Tool, input: Json): Promise<Decision> {
  try {
    const checked = await schema["~standard"].validate(input);
    if (!checked.issues) return { value: Json.of(checked.value) };
    return { refusal: `bad input: ${checked.issues.map(({ message }) => message).join("; ")}` };
  } catch (error) {
    return { refusal: `bad input: ${messageOf(error)}` };
  }
}
