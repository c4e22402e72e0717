import type { RetryPolicy } from "@restatedev/restate-sdk";

/** The settings of every handler. */
export interface HandlerSettings {
  readonly retryPolicy: RetryPolicy;
  readonly inactivityTimeout: number;
  readonly abortTimeout: number;
}

/** The retries of infrastructure failures: fast, because a dead worker's runs wait for them. */
export const retryPolicy: RetryPolicy = {
  initialInterval: 50,
  exponentiationFactor: 1.5,
  maxInterval: 1_000,
  // The server's default is to pause after 70, which here is one minute without a worker.
  maxAttempts: 4_000_000_000,
};
