import type { Usage } from "#kernel";
import type { Attempt } from "./account.ts";
import type { Draft } from "../draft.ts";
import type { ReservationRequest } from "./reservation-request.ts";

/*
 * Input tokens that a provider counts and a caller cannot see, such as a prompt that it adds. A bound of a prompt does not
 * hold them until a provider has reported them. From then on, every bound of that model in the tree is raised by the
 * most that was reported beyond a bound.
 */

/** Returns a request with the tokens that the model's provider has reported beyond earlier bounds. */
export function withHidden({ tree }: Draft, ask: ReservationRequest): ReservationRequest {
  const hidden = tree.hiddenTokens === undefined ? 0 : hiddenOf(tree, ask.model);
  return hidden === 0 ? ask : { ...ask, inputTokens: ask.inputTokens + hidden };
}

/** Returns what an attempt stores, so that its report can be compared with its bound. */
export function hiddenFields(
  { tree }: Draft,
  { model }: ReservationRequest,
): Pick<Attempt, "model" | "hiddenTokens"> {
  const hidden = tree.hiddenTokens === undefined ? 0 : hiddenOf(tree, model);
  return { ...(model !== undefined && { model }), ...(hidden > 0 && { hiddenTokens: hidden }) };
}

/** Notes what a provider has reported beyond the bound of a call. */
export function noteHidden(draft: Draft, open: Attempt, { input }: Usage): void {
  const { model, ceiling, outputTokens, hiddenTokens = 0 } = open;
  if (model === undefined) return;
  const hidden = input - (ceiling.tokens - outputTokens - hiddenTokens);
  if (hidden <= 0 || hidden <= hiddenOf(draft.tree, model)) return;
  draft.tree = { ...draft.tree, hiddenTokens: { ...draft.tree.hiddenTokens, [model]: hidden } };
}

function hiddenOf({ hiddenTokens }: Draft["tree"], model: string | undefined): number {
  if (hiddenTokens === undefined || model === undefined) return 0;
  return Object.hasOwn(hiddenTokens, model) ? (hiddenTokens[model] ?? 0) : 0;
}
