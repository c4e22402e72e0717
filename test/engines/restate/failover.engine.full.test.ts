import { type RestateServer, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelTree } from "./scenarios/cancel-tree.ts";
import { failover } from "./scenarios/failover.ts";
import { expectWithin } from "../../effort.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

test("a run continues in another worker within a second after its worker is killed", async () => {
  const took = await failover(server, { runs: 5, killsOfEach: 1 });
  const median = took.toSorted((a, b) => a - b)[2];
  expectWithin(1_000, median ?? Infinity);
});

test("in a cancelled tree of 13 on two workers all have stopped within a second, and the receipt lists each", async () => {
  const { receipt, tookMs, lostMs, heldBy } = await cancelTree(server);
  expect(heldBy).toEqual([4, 9]);
  expect(new Set(receipt.runs.map(({ runId }) => runId)).size).toBe(13);
  expectWithin(1_000, Math.max(...receipt.runs.map((stopped) => stopped.tookMs)) - lostMs);
  // Including the way to the client and back.
  expectWithin(5_000, tookMs - lostMs);
});
