/** A fault that `reeve dev` can cause in its own worker. */
export type FaultKind = (typeof faultKinds)[number];

/** All kinds of {@link FaultKind}. */
export const faultKinds = ["kill-worker", "model-error", "slow", "injection"] as const;

/** The tools of `reeve dev` that its server offers to the page. No other server has them. */
export interface DevTools {
  /** The task that the playground begins with; null: none. */
  readonly example: string | null;
  /** The reason why the newest code does not load; null: it does. */
  failure(): string | null;
  /** Causes a fault in this worker. */
  cause(kind: FaultKind): void;
}
