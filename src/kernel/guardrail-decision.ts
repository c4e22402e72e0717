import type { Json } from "./json.ts";
import type { ContentBlock } from "./message.ts";

/**
 * A guardrail's decision: continue; continue with a warning to the model; block and give the model the reason; or end
 * the run. The strictest decision counts. `note` is kept for the rest of the turn.
 */
export type GuardrailDecision =
  | {
      readonly kind: "allow";
      readonly note?: Json | undefined;
      /** Replacement for a tool result's content. */
      readonly content?: readonly ContentBlock[] | undefined;
    }
  | { readonly kind: "warn" | "block" | "halt"; readonly reason: string; readonly note?: Json | undefined };
