import { expect, test } from "vitest";
import { BudgetExhaustedError, SpawnBudget } from "#kernel";
import { SpawnTracker } from "#ledger";
import { run } from "./tree.ts";

const [a, b, c] = [run("a"), run("b"), run("c")];
const tracker = (maxAgents: number) => new SpawnTracker(SpawnBudget.of({ maxAgents }));

test("the root holds a slot from the start", () => {
  expect(tracker(1).total).toBe(1);
});

test("a full tree denies a run of normal priority with the dimension agents", () => {
  const house = tracker(2);
  expect(house.acquire(a)).toBe("granted");
  const error = (() => {
    try {
      return house.acquire(b);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(BudgetExhaustedError.is(error)).toBe(true);
  expect(error).toMatchObject({ dimension: "agents", limit: 2, used: 2, reason: "full" });
});

test("the slot moves when the victim has yielded; until then both are paused", () => {
  const house = tracker(2);
  house.acquire(a, "low");
  expect(house.acquire(b, "high")).toBe("pending");
  expect([house.isPaused(a), house.isPaused(b), house.total]).toEqual([true, true, 2]);
  house.confirmYield(a);
  expect([house.isPaused(a), house.isPaused(b), house.total]).toEqual([true, false, 2]);
  house.release(b);
  expect(house.isPaused(a)).toBe(false);
});

test("the three acquires that exceed the published tracker's limit do not exceed this one", () => {
  const house = tracker(2);
  house.acquire(a, "low");
  house.acquire(b, "high");
  expect(() => house.acquire(c, "high")).toThrow(BudgetExhaustedError);
  expect(house.total).toBe(2);
});

test("a release frees the slot, and the release of a paused run frees none", () => {
  const house = tracker(2);
  house.acquire(a, "low");
  house.acquire(b, "high");
  house.confirmYield(a);
  house.release(a);
  expect(house.total).toBe(2);
  house.release(b);
  house.release(b);
  expect(house.total).toBe(1);
});

test("a run lowered below normal in a full tree is paused, and continues when raised again", () => {
  const house = tracker(2);
  house.acquire(a);
  house.reprioritize(a, "low");
  expect(house.isPaused(a)).toBe(true);
  house.confirmYield(a);
  house.reprioritize(a, "normal");
  expect(house.isPaused(a)).toBe(false);
  house.reprioritize(c, "low");
  expect(house.isPaused(c)).toBe(false);
});
