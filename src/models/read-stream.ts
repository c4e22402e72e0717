import { ModelError, type ModelCall, type ModelResponse } from "#kernel";
import type { AnswerBuilder, WirePart } from "./answer-builder.ts";
import { classifyError } from "./classify-error.ts";
import { wireField } from "./wire-field.ts";

/**
 * Reads an answer part by part. An abort ends the reading at once. From here on the call may be billed: the provider
 * has begun to answer.
 */
export async function readStream(
  stream: ReadableStream<WirePart>,
  answer: AnswerBuilder,
  { signal, onDelta }: ModelCall,
): Promise<ModelResponse> {
  const reader = stream.getReader();
  const stop = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        // Cut after its end had come: the answer is whole, and paid for.
        if (answer.isFinished) return { done: true as const, value: undefined };
        throw error;
      });
      signal.throwIfAborted();
      if (done) return requireWhole(answer.build());
      // Some providers report a failure inside the stream, as a plain object.
      if (value.type === "error") throw classifyError(wireField(value, "error"), { answered: true });
      const delta = answer.add(value);
      if (delta) onDelta?.(delta);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw classifyError(error, { answered: true });
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** An answer without its end was cut off in transit. */
export function requireWhole(response: ModelResponse | null): ModelResponse {
  if (response) return response;
  throw new ModelError({ kind: "server-error", message: "the answer ended before it was finished" });
}
