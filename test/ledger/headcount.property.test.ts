import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Priority } from "#kernel";
import { LedgerHeadcounter, PublishedHeadcounter } from "./headcounters.ts";
import { Shadow, type Headcounter } from "./shadow.ts";
import { root, run } from "./tree.ts";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(10_000);

/** More of what builds trees up than of what takes them apart. */
const kinds = [
  "admit",
  "admit",
  "admit",
  "admit",
  "yield",
  "yield",
  "release",
  "wait",
  "wait",
  "wake",
  "pause",
  "resume",
  "reprioritize",
  "reprioritize",
  "cancel",
  "time",
] as const;

/** An operation and its target: numbers that are resolved against the current tree. */
type Operation = readonly [kind: string, who: number, how: number];
const operations = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.nat(19), fc.nat(59)), {
  maxLength: 50,
  size: "max",
});

function perform(shadow: Shadow, [kind, who, how]: Operation): void {
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[who % items.length];
  const any = pick(shadow.live) ?? root;
  const writer = pick(shadow.live.filter((each) => each !== root));
  const priority = Priority.all[how % 5] ?? "normal";
  const atWork = pick(shadow.executing.filter((each) => !shadow.waiting.includes(each)));
  const told = pick(shadow.told);
  const waiting = pick(shadow.waiting);
  if (kind === "admit") {
    const onFull = how % 2 === 0 ? "wait" : "deny";
    shadow.admit(atWork ?? root, { priority, onFull, detached: how % 7 === 0 });
  }
  if (kind === "yield" && told) shadow.yield(told);
  if (kind === "release" && writer) shadow.release(writer);
  if (kind === "wait" && atWork) {
    const on = shadow.live.filter(
      (each, index) => each !== root && (index + how) % 3 === 0 && !shadow.wouldCircle(atWork, each),
    );
    shadow.wait(atWork, how % 4 === 0 || on.length === 0 ? null : on);
  }
  if (kind === "wake" && waiting) shadow.wake(waiting);
  if (kind === "pause") shadow.pause(how % 10 === 0 ? root : (writer ?? root));
  if (kind === "resume") shadow.resume(any);
  if (kind === "reprioritize") shadow.reprioritize(any, priority);
  if (kind === "cancel" && writer) shadow.cancel(writer);
  if (kind === "time") shadow.at += how * 10_000;
}

function property(create: (maxAgents: number, allowPreempt: boolean) => Headcounter) {
  const agents = fc.integer({ min: 1, max: 5 });
  const preempt = fc.integer({ min: 0, max: 3 }).map((dice) => dice > 0);
  return fc.property(agents, preempt, operations, (maxAgents, allowPreempt, sequence) => {
    const shadow = new Shadow(create(maxAgents, allowPreempt));
    for (const operation of sequence) {
      perform(shadow, operation);
      shadow.check();
    }
    shadow.drain();
  });
}

test("2.9 in any interleaving at most maxAgents runs hold a slot, no slot is lost, and no run starves", () => {
  const ledger = property((maxAgents, allowPreempt) => new LedgerHeadcounter(maxAgents, allowPreempt));
  expect(() => fc.assert(ledger, { numRuns })).not.toThrow();
});

test("the headcount's figures equal the slots, and a host that loads single rows decides the same", () => {
  const ledger = property(
    (maxAgents, allowPreempt) => new LedgerHeadcounter(maxAgents, allowPreempt, { checked: true }),
  );
  expect(() => fc.assert(ledger, { numRuns: numRuns / 10 })).not.toThrow();
});

test("2.9 the same property fails for the published algorithm", () => {
  const { failed, counterexample } = fc.check(property((maxAgents) => new PublishedHeadcounter(maxAgents)));
  expect(failed).toBe(true);
  // Spawns a low and a high priority run: both work.
  expect(counterexample?.[2].map(([kind]) => kind)).toEqual(["admit", "admit"]);
});

test("2.9 the published algorithm runs one agent too many even if victims stop at once", () => {
  const published = new PublishedHeadcounter(2);
  const wish = { parent: root, budget: null, onFull: "deny", detached: false, at: 0 } as const;
  published.admit({ ...wish, run: run("a"), priority: "low" });
  published.admit({ ...wish, run: run("b"), priority: "high" });
  published.admit({ ...wish, run: run("c"), priority: "high" });
  expect([root, run("a"), run("b"), run("c")].filter((each) => published.mayBegin(each))).toHaveLength(3);
});
