import type { Json } from "./json.ts";
import type { ContentBlock } from "./message.ts";

/**
 * What a guardrail says: go on; go on and tell the model something; do not, and tell the model why; or end the run. The
 * strictest word counts. `note` is kept for the rest of the turn.
 */
export type GuardrailDecision =
  | {
      readonly kind: "allow";
      readonly note?: Json | undefined;
      /** Of a result: what the model is shown instead. */
      readonly content?: readonly ContentBlock[] | undefined;
    }
  | { readonly kind: "warn" | "block" | "halt"; readonly reason: string; readonly note?: Json | undefined };
