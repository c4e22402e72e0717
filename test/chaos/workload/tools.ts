import { currentScope, tool, type EffectTool, type Tool } from "reeve";
import { z } from "zod";
import { currentCall } from "../witness/marked-engine.ts";

/** The input of every effect. */
const order = z.object({ order: z.string() });
type Order = z.infer<typeof order>;

/** The tools that may run again at any time, and so pass no gate. */
export const ungatedTools: ReadonlySet<string> = new Set(["note"]);

/** One tool for each rule about effects with unknown outcome. All deliver their input to the sink. */
export function toolsFor(sink: string): readonly Tool[] {
  const bring = (name: string, rule: Pick<EffectTool, "idempotent" | "onUnknown">): Tool =>
    tool<Order>({
      name,
      description: `Carries out an order (${name})`,
      input: order,
      risk: "safe",
      ...rule,
      execute: (input, { signal, idempotencyKey: key }) =>
        deliver(sink, { tool: name, order: input.order, key }, signal),
    });
  return [
    bring("note", { idempotent: true }),
    bring("mail", { onUnknown: "report" }),
    bring("stamp", { onUnknown: "rerun" }),
    bring("pay", { onUnknown: "ask" }),
  ];
}

/** Brings one effect to the sink and returns its answer. */
export async function deliver(
  sink: string,
  effect: { readonly tool: string; readonly order: string; readonly key: string },
  signal: AbortSignal,
): Promise<string> {
  const run = currentScope()?.runId;
  const body = JSON.stringify({ ...effect, run, ...currentCall(), pid: process.pid });
  const answer = await fetch(sink, { method: "POST", body, signal });
  return answer.text();
}
