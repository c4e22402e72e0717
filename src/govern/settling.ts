import { readUsage, wireField } from "#models";
import type { Granted } from "./governor.ts";

/**
 * The same answer, which settles its call at its end. One that is given up, aborted or broken off leaves it in doubt.
 * The tool calls of a shrunk call are held back until its end says that it was not cut.
 */
export function settling<Part extends { readonly type: string }>(
  source: ReadableStream<Part>,
  granted: Granted,
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

/** Whether an answer ended where the money did. What it wanted to do then may be only half of it. */
export function isCut({ isShrunk }: Granted, answer: object): boolean {
  const reason = wireField(answer, "finishReason");
  return isShrunk && (wireField(reason, "unified") ?? reason) === "length";
}
