import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll } from "vitest";

// Processes to end after a failed test: a leftover process, especially a stopped one, would keep the test run waiting
// long after its report.

const live = new Set<ChildProcess>();

const noteProcess = (message: unknown): void => {
  const { process: child } = Object(message);
  if (!(child instanceof ChildProcess)) return;
  live.add(child);
  child.once("exit", () => live.delete(child));
};
subscribe("child_process", noteProcess);

// A set-up file's hook is the first to be registered, so it is the last to run.
afterAll(() => {
  unsubscribe("child_process", noteProcess); // The next file has its own.
  for (const child of live) child.kill("SIGKILL");
});
