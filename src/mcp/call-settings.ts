/** The settings of calls to one server. */
export interface CallSettings {
  readonly server: string;
  readonly timeoutMs: number;
  /** The time between two questions after a task, at most. */
  readonly maxWaitS: number;
  readonly asks: boolean;
  readonly samples: boolean;
  readonly maxSamplingTokens: number;
  readonly onProblem: (problem: string) => void;
}
