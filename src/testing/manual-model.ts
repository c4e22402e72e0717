import { ChatMessage, type Model, type ModelRequest, type Price, type Usage } from "#kernel";

/** A call that a held model has been asked and not answered. */
export interface ManualCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  answer(text: string, usage?: Usage | null): void;
  fail(error: Error): void;
}

/** A model whose calls remain in flight until the test answers them. An aborted call fails with the signal's reason. */
export interface ManualModel extends Model {
  /** Every call so far, answered or not. */
  readonly calls: readonly ManualCall[];
}

/** A model for tests about calls in flight. */
export function manualModel(options: { readonly id?: string; readonly price?: Price } = {}): ManualModel {
  const calls: ManualCall[] = [];
  return {
    id: options.id ?? "held",
    price: options.price,
    calls,
    generate: (request, { signal }) =>
      new Promise((resolve, reject) => {
        const stop = (): void => reject(signal.reason);
        if (signal.aborted) stop();
        signal.addEventListener("abort", stop, { once: true });
        calls.push({
          request: { ...request, messages: [...request.messages] },
          signal,
          answer: (text, usage = { input: 10, output: 5 }) =>
            resolve({ message: ChatMessage.assistant(text), usage, finishReason: "stop" }),
          fail: reject,
        });
      }),
  };
}
