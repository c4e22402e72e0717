import { cancellationToken } from "#base";
import { CancellationError } from "reeve";
import { expect, test } from "vitest";

test("4.1 the first reason wins; cancelling twice changes nothing", () => {
  const token = cancellationToken();
  token.cancel("first");
  token.cancel("second");
  expect([token.cancelled, token.reason]).toEqual([true, "first"]);
  expect(() => token.check()).toThrow(new CancellationError({ reason: "first" }));
});

test("4.1 a parent's cancel reaches children and their children, never the reverse", () => {
  const parent = cancellationToken();
  const child = parent.child();
  const grandchild = child.child();
  grandchild.cancel("mine");
  expect([parent.cancelled, child.cancelled]).toEqual([false, false]);
  parent.cancel("all");
  expect([child.reason, grandchild.reason]).toEqual(["all", "mine"]);
});

test("4.1 a child of a cancelled token is born cancelled", () => {
  const token = cancellationToken();
  token.cancel("early");
  expect(token.child().reason).toBe("early");
});

test("4.1 one throwing listener does not stop the others", async () => {
  const token = cancellationToken();
  const heard: string[] = [];
  const uncaught = new Promise((resolve) => process.once("uncaughtException", resolve));
  token.signal.addEventListener("abort", () => {
    throw new Error("listener");
  });
  token.signal.addEventListener("abort", () => heard.push("second"));
  token.cancel("now");
  expect(heard).toEqual(["second"]);
  expect(await uncaught).toMatchObject({ message: "listener" });
});

test("4.4 the token is a platform signal that aborts with the cancellation itself", async () => {
  const token = cancellationToken();
  const waiting = token.wait();
  token.cancel("user");
  expect(token.signal.reason).toEqual(new CancellationError({ reason: "user" }));
  expect(await waiting).toBe("user");
  expect(await token.wait()).toBe("user");
});

test.each([
  ["before it is read", false],
  ["after it was read", true],
])("4.1 the creator is told of a cancel once, before the listeners of the signal: %s", (_, isRead) => {
  const token = cancellationToken();
  const told: string[] = [];
  token.onCancel(() => told.push(`creator: ${token.signal.aborted}`));
  if (isRead) token.signal.addEventListener("abort", () => told.push("listener"));
  token.cancel("first");
  token.cancel("second");
  expect(told).toEqual(["creator: true", ...(isRead ? ["listener"] : [])]);
});
