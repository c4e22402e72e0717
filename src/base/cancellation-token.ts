import { CancellationError, type CancellationToken } from "#kernel";

/** Creates a cancellation token. It is also cancelled by `parent`, if given. */
export function cancellationToken(parent?: AbortSignal): CancellationToken {
  const own = new AbortController();
  // One listener per child would leak on a long-lived parent. `AbortSignal.any` links them weakly.
  const signal = parent ? AbortSignal.any([parent, own.signal]) : own.signal;
  // Stored separately: a parent that is cancelled later overwrites the reason of a signal that was aborted before.
  let first: string | null = null;
  const reasonOf = (): string | null => first ?? (signal.aborted ? describeReason(signal.reason) : null);
  return {
    get cancelled() {
      return signal.aborted;
    },
    get reason() {
      return reasonOf();
    },
    signal,
    cancel(reason) {
      if (signal.aborted) return;
      first = reason;
      own.abort(new CancellationError({ reason }));
    },
    check() {
      const reason = reasonOf();
      if (reason !== null) throw new CancellationError({ reason });
    },
    wait: () =>
      new Promise((resolve) => {
        const tell = (): void => resolve(reasonOf() ?? "cancelled");
        if (signal.aborted) tell();
        else signal.addEventListener("abort", tell, { once: true });
      }),
    child: () => cancellationToken(signal),
  };
}

function describeReason(reason: unknown): string {
  return reason instanceof CancellationError ? reason.reason : String(reason);
}
