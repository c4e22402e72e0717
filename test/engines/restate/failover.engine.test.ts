import { type RestateServer, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelTree } from "./scenarios/cancel-tree.ts";
import { failover } from "./scenarios/failover.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
}, 300_000);

afterAll(() => server[Symbol.asyncDispose]());

test("a run continues in another worker within a second after its worker is killed", async () => {
  const took = await failover(server, { runs: 5, killsOfEach: 1 });
  const median = took.toSorted((a, b) => a - b)[2];
  expect(median).toBeLessThanOrEqual(1_000);
}, 300_000);

test("in a cancelled tree of 13 on two workers all have stopped within a second, and the receipt lists each", async () => {
  const { receipt, tookMs, lostMs, heldBy } = await cancelTree(server);
  expect(heldBy).toEqual([4, 9]);
  expect(new Set(receipt.runs.map(({ runId }) => runId)).size).toBe(13);
  expect(Math.max(...receipt.runs.map((stopped) => stopped.tookMs)) - lostMs).toBeLessThan(1_000);
  // Including the way to the client and back, on a loaded machine.
  expect(tookMs - lostMs).toBeLessThanOrEqual(5_000);
}, 300_000);
