/** Settings passed to a worker of `reeve dev` in {@link settingsVariable}. */
export interface WorkerSettings {
  readonly file: string;
  /** The folder of the project, in which `.env` is looked for. */
  readonly folder: string;
  readonly build: string;
  readonly port: number;
  readonly ingress: string;
  readonly admin: string;
  readonly store: string;
}

/** Environment variable that holds {@link WorkerSettings} as JSON. */
export const settingsVariable = "REEVE_DEV_WORKER";

/** A message of a worker to `reeve dev`. */
export type WorkerNews =
  | ({ readonly type: "ready" } & ReadyBuild)
  | { readonly type: "counted"; readonly build: string; readonly runs: number }
  | { readonly type: "failed"; readonly words: string }
  | { readonly type: "log"; readonly words: string };

/** A build that serves. */
export interface ReadyBuild {
  readonly url: string;
  readonly agents: readonly string[];
  /** Equal for builds whose agents have equal versions: each can continue runs of the other. */
  readonly program: string;
}

/** A message of `reeve dev` to a worker: take over runs of other builds, count those of one, or show a failure. */
export type WorkerOrder =
  | {
      readonly type: "adopt";
      readonly builds: readonly string[];
      /** Only runs that their build refuses. Default: all. */
      readonly only?: "refused";
    }
  | { readonly type: "count"; readonly build: string }
  /** The reason why newer code does not load; null: it does. */
  | { readonly type: "failure"; readonly words: string | null };
