/** What a worker of `reeve dev` is told when it starts, in {@link settingsVariable}. */
export interface WorkerSettings {
  readonly file: string;
  readonly build: string;
  readonly port: number;
  readonly ingress: string;
  readonly admin: string;
  readonly store: string;
}

/** The environment variable that holds {@link WorkerSettings} as JSON. */
export const settingsVariable = "REEVE_DEV_WORKER";

/** What a worker says to `reeve dev`. */
export type WorkerNews =
  | { readonly type: "ready"; readonly url: string; readonly agents: readonly string[] }
  | { readonly type: "failed"; readonly words: string }
  | { readonly type: "log"; readonly words: string };

/** What `reeve dev` says to a worker: take over what another build began. */
export interface WorkerOrder {
  readonly type: "adopt";
  readonly builds: readonly string[];
}
