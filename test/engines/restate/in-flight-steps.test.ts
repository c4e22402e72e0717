import { expect, test } from "vitest";
import { InFlightSteps, type StepLease } from "../../../src/engines/restate/hosting/in-flight-steps.ts";
import type { StepResult } from "../../../src/engines/restate/hosting/step-results.ts";

const result: StepResult = { journaled: new Uint8Array(), whole: new Uint8Array() };

/** Begins a closure that runs until it is aborted. Resolves with its signal. */
function beginEndless(holder: StepLease, key = "step"): Promise<AbortSignal> {
  return new Promise((resolve) => {
    const endless = (signal: AbortSignal): Promise<StepResult> => {
      resolve(signal);
      return new Promise(() => undefined);
    };
    void holder.run(key, new AbortController().signal, endless);
  });
}

const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });

test("a closure of a lost attempt is aborted when no attempt has come back for it", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 1 });
  const holder = steps.attempt("execution");
  const signal = await beginEndless(holder);
  expect(signal.aborted).toBe(false);
  holder.markLost();
  await waitForAbort(signal);
  expect(steps.size).toBe(0);
});

test("a closure that the next attempt has taken over outlives the attempt that began it", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 1 });
  const first = steps.attempt("execution");
  const taken = await beginEndless(first, "taken");
  const left = await beginEndless(first, "left");
  const second = steps.attempt("execution");
  void second.run("taken", new AbortController().signal, async () => result);
  first.markLost();
  await waitForAbort(left);
  expect([taken.aborted, steps.size]).toEqual([false, 1]);
  second.abortAll();
  expect([taken.aborted, steps.size]).toEqual([true, 0]);
});

test("two attempts of an execution have different ids, however fast one follows the other", () => {
  const steps = new InFlightSteps({ stepRetentionMs: 1 });
  const ids = Array.from({ length: 1_000 }, () => steps.attempt("execution").id);
  expect(new Set(ids).size).toBe(ids.length);
});

test("a closure waits while its attempt is lost, until a later attempt adopts it", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 60_000 });
  const first = steps.attempt("execution");
  await beginEndless(first);
  expect(first.waitUntilHeld("step")).toBeNull();
  first.markLost();
  const held = first.waitUntilHeld("step");
  expect(held).toBeInstanceOf(Promise);
  expect(first.waitUntilHeld("step")).toBe(held);
  const second = steps.attempt("execution");
  void second.run("step", new AbortController().signal, async () => result);
  await held;
  expect(first.waitUntilHeld("step")).toBeNull();
  second.markLost();
  const heldAgain = first.waitUntilHeld("step");
  steps.close();
  await expect(heldAgain).rejects.toThrow("the execution of this step has ended");
});

test("a closure that waits for a later attempt rejects when it is aborted", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 1 });
  const holder = steps.attempt("execution");
  await beginEndless(holder);
  holder.markLost();
  await expect(holder.waitUntilHeld("step")).rejects.toThrow("the execution of this step has ended");
  expect(holder.waitUntilHeld("step")).toBeNull();
});

test("a step that is cancelled before a later attempt has adopted its closure is aborted at once", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 60_000 });
  const first = steps.attempt("execution");
  const [cancelled, left] = [await beginEndless(first, "cancelled"), await beginEndless(first, "left")];
  first.markLost();
  const second = steps.attempt("execution");
  second.abortStep("cancelled", new Error("enough"));
  expect([cancelled.aborted, left.aborted]).toEqual([true, false]);
  expect(cancelled.reason).toEqual(new Error("enough"));
  first.abortStep("left", new Error("late"));
  expect(left.aborted).toBe(false);
  steps.close();
});

test("when an execution ends, the closures of all its attempts are aborted, and an attempt that is lost ends nothing", async () => {
  const steps = new InFlightSteps({ stepRetentionMs: 60_000 });
  const [first, other] = [steps.attempt("execution"), steps.attempt("other")];
  const signals = [await beginEndless(first, "early"), await beginEndless(other, "other")];
  first.markLost();
  const second = steps.attempt("execution");
  signals.push(await beginEndless(second, "late"));
  first.endExecution();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  second.endExecution();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, true]);
  expect(steps.size).toBe(1);
  steps.close();
});
