import { CancellationError, type CancellationToken } from "#kernel";

/** A token whose creator is told of the cancel. */
export interface OwnedToken extends CancellationToken {
  /** Sets the callback of `cancel`. It is called once, before the listeners of the signal. */
  onCancel(act: () => void): void;
}

/** Creates a cancellation token. It is also cancelled by `parent`, if given. */
export function cancellationToken(parent?: AbortSignal): OwnedToken {
  // Created on first use: most runs never read their signal.
  let own: AbortController | null = null;
  let signal: AbortSignal | null = null;
  let tell = ignore;
  // Stored separately: a parent that is cancelled later overwrites the reason of a signal that was aborted before.
  let first: string | null = null;
  const reasonOf = (): string | null => first ?? (parent?.aborted ? describeReason(parent.reason) : null);
  const createSignal = (): AbortSignal => {
    own = new AbortController();
    own.signal.addEventListener("abort", () => tell(), { once: true });
    // One listener per child would leak on a long-lived parent. `AbortSignal.any` links them weakly.
    signal = parent && first === null ? AbortSignal.any([parent, own.signal]) : own.signal;
    if (first !== null) own.abort(new CancellationError({ reason: first }));
    return signal;
  };
  const signalOf = (): AbortSignal => signal ?? createSignal();
  return {
    get cancelled() {
      return first !== null || (parent?.aborted ?? false);
    },
    get reason() {
      return reasonOf();
    },
    get signal() {
      return signalOf();
    },
    onCancel(act) {
      tell = act;
    },
    cancel(reason) {
      if (reasonOf() !== null) return;
      first = reason;
      if (own) return own.abort(new CancellationError({ reason }));
      const act = tell;
      // The callback may read the signal, which is created as aborted then.
      tell = ignore;
      act();
    },
    check() {
      const reason = reasonOf();
      if (reason !== null) throw new CancellationError({ reason });
    },
    wait: () =>
      new Promise((resolve) => {
        const answer = (): void => resolve(reasonOf() ?? "cancelled");
        if (reasonOf() !== null) answer();
        else signalOf().addEventListener("abort", answer, { once: true });
      }),
    child: () => cancellationToken(signalOf()),
  };
}

const ignore = (): void => undefined;

function describeReason(reason: unknown): string {
  return reason instanceof CancellationError ? reason.reason : String(reason);
}
