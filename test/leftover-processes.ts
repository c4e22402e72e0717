import { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { afterAll } from "vitest";

// Ends what a failed test could not: a process that lives on, worst a stopped one, would keep the whole test run waiting
// for it long after the last line of its report.

const live = new Set<ChildProcess>();

subscribe("child_process", (message) => {
  const { process: child } = Object(message);
  if (!(child instanceof ChildProcess)) return;
  live.add(child);
  child.once("exit", () => live.delete(child));
});

// A set-up file's hook is the first to be registered, so it is the last to run.
afterAll(() => {
  for (const child of live) child.kill("SIGKILL");
});
