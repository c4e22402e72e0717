import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll, afterEach } from "vitest";

// Fails a test that tries to reach another machine, even where its code ignores the error.

const hosts: unknown[] = [];

// The hook that vitest.config.ts loads into every process of tests refuses the attempt, and publishes it.
const noteAttempt = (message: unknown): void => void hosts.push(Object(message).host);
subscribe("reeve.test.attempt", noteAttempt);

/** Takes the hosts that the test has tried to reach so far: a test that means to try expects them. */
export const takeAttempts = (): readonly unknown[] => hosts.splice(0);

afterEach(() => {
  const left = takeAttempts();
  if (left.length > 0) throw new Error(`the test has tried to reach ${left.join(", ")}`);
});

afterAll(() => unsubscribe("reeve.test.attempt", noteAttempt));
