import { readUsage, wireField } from "#models";
import type { GovernedGrant } from "./governor.ts";

/**
 * Returns the same stream, which settles its call at the end. A stream that is abandoned, aborted or broken off leaves
 * the call in doubt. Tool calls of a shortened call are held back until the end shows that it was not truncated.
 */
export function settleAtEnd<Part extends { readonly type: string }>(
  source: ReadableStream<Part>,
  granted: GovernedGrant,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  const held: Part[] = [];
  const lose = (): void => granted.settle(null);
  const stop = (): void => {
    signal?.removeEventListener("abort", lose);
    lose();
  };
  signal?.addEventListener("abort", lose, { once: true });
  return source.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        if (part.type === "tool-call" && granted.isShrunk) return void held.push(part);
        if (part.type === "finish") {
          granted.settle(readUsage(wireField(part, "usage")));
          if (!isCut(granted, part)) for (const call of held) controller.enqueue(call);
        }
        controller.enqueue(part);
      },
      flush: stop,
      cancel: stop,
    }),
  );
}

/** Whether an answer was truncated by the budget. Its tool calls may then be incomplete. */
export function isCut({ isShrunk }: GovernedGrant, answer: object): boolean {
  const reason = wireField(answer, "finishReason");
  return isShrunk && (wireField(reason, "unified") ?? reason) === "length";
}
