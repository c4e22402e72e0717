import type { Diagnostic, ErrorData } from "#kernel";
import { formatCounted } from "./amounts.ts";
import { clean } from "./clean.ts";
import { denials } from "./asides.ts";
import { thrownText } from "./thrown-text.ts";

const modelErrors: Readonly<Record<string, string>> = {
  "rate-limit": "the provider's rate limit was reached on every attempt",
  overloaded: "the provider is overloaded",
  "server-error": "the provider failed",
  timeout: "the provider did not answer in time",
  "context-overflow": "the conversation is longer than the model's context",
  auth: "the provider does not accept the key",
  "auth-permanent": "the provider does not accept the key",
  billing: "the provider's account has no money or quota left",
  "model-not-found": "the provider does not know the model",
  "content-blocked": "the provider refused the content",
  format: "the provider did not understand the request",
  unknown: "the provider failed with an unknown error",
};

/** Explains an error. */
export function failureText(error: ErrorData | null, diagnostic: Diagnostic | null = null): string {
  if (!error) return "an error without a message";
  switch (error.code) {
    case "model":
      if (isMissingKey(error)) return "there is no key for the provider";
      return modelErrors[String(error["kind"])] ?? "its model call failed";
    case "key-destroyed":
      return "its key was destroyed, so its content cannot be read";
    case "incompatible-version":
      return `it needs version ${clean(String(error["wanted"]))} of ${clean(String(error["agent"]))}, and the worker has ${clean(String(error["present"]))}`;
    case "replay-divergence":
      return `its code changed while it was under way (at ${clean(String(error["step"]))}): raise the agent's version`;
    case "unjournaled-await":
      return "its code awaits something outside ctx: wrap it in ctx.step()";
    case "too-large":
      return clean(error.message ?? "a value was too large");
    case "unencodable":
      return clean(error.message ?? "a value of its code cannot be encoded as JSON");
    case "too-many-steps":
      return "its code made too many steps in one execution: return ctx.continueAs(state) from time to time";
    case "nested-step":
      return "its code uses ctx inside a step: a step must not use ctx";
    case "ask-failed":
      return `a child that it asked did not reply (${clean(String(error["outcome"]))})`;
    case "wait-cycle":
      return "it asked a run that waits for it";
    case "invalid-program":
      return clean(error.message ?? "its program is not valid");
    case "not-found":
      return `there is no ${clean(String(error["what"]))} ${clean(String(error["id"]))}`;
    default:
      return diagnostic ? thrownText(diagnostic) : `an error in its code (${clean(error.code)})`;
  }
}

/** Whether the call never left, because the provider's library found no key. */
const isMissingKey = ({ message = "" }: ErrorData): boolean => /API key is missing/i.test(message);

/** Whether the provider refused the key, or there was none. */
export const isAboutKey = (error: ErrorData | null): boolean =>
  error?.code === "model" && ["auth", "auth-permanent"].includes(String(error["kind"]));

/** Why there was no slot. */
export function noSlotText(error: ErrorData | null): string {
  const limit = error?.["limit"];
  const denied = error?.["reason"];
  const full =
    typeof limit === "number"
      ? `all ${formatCounted(limit, "slot")} of the tree were taken`
      : "no slot was free";
  return `${full}${isDenial(denied) && denied !== "full" ? `, and ${denials[denied]}` : ""}`;
}

const isDenial = (reason: unknown): reason is keyof typeof denials =>
  typeof reason === "string" && reason in denials;
