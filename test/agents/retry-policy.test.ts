import { RetryPolicy } from "reeve";
import { expect, test } from "vitest";

test("5.7 a retry policy counts each id separately, gives up after maxRetries, and resets after a success", () => {
  const policy = new RetryPolicy({ maxRetries: 2 });
  expect([policy.shouldRetry("a"), policy.shouldRetry("a"), policy.shouldRetry("a")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(policy.shouldRetry("b")).toBe(true);
  policy.reset("a");
  expect(policy.shouldRetry("a")).toBe(true);
  expect(new RetryPolicy().maxRetries).toBe(3);
});
