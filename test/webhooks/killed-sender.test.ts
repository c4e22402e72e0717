import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Partition } from "reeve/store";
import { TreeId } from "reeve";
import { sqliteStore } from "reeve/stores/sqlite";
import { expect, test } from "vitest";
import { endOf, warningOf } from "./events.ts";
import { firstByTree, loopbackSettings, openReceiver } from "./receiver.ts";

const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const fixture = fileURLToPath(new URL("fixtures/sender-process.ts", import.meta.url));
const trees = ["t1", "t2", "t3", "t4"];

test("after a sender is killed midway, twice, the next one sends the rest in order", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-webhooks-"));
  const path = join(folder, "store.db");
  const kill = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using receiver = await openReceiver({
    secrets: () => [secret],
    // Two requests are never answered: their sender is killed while it waits.
    answer: (request) => {
      if (request !== 5 && request !== 12) return request % 3 === 0 ? 503 : 200;
      kill[request === 5 ? 0 : 1]?.resolve();
      return null;
    },
  });
  const store = await sqliteStore({ path });
  const partition = Partition.of("acme");
  const target = { url: receiver.url, secrets: [{ value: secret, until: null }] };
  await store.webhooks.put(partition, {
    id: "hook",
    events: ["run.end"],
    allRuns: false,
    setAt: 1,
    revision: 1,
    target,
  });
  for (const tree of trees) {
    const events = [...[1, 2, 3, 4].map((seq) => warningOf(tree, seq)), endOf(tree, 5)];
    await store.events.append(partition, TreeId.of(tree), events);
    await store.webhooks.enqueue(
      partition,
      events.map(({ treeId, seq, type, at }) => ({ webhookId: "hook", treeId, seq, event: type, at })),
    );
  }
  const all = receiver.waitForCount(20);
  const start = () =>
    fork(fixture, [path, JSON.stringify({ ...loopbackSettings, maxAttempts: 100 })], {
      execArgv: ["--conditions=reeve-source"],
    });
  for (const { promise } of kill) {
    const child = start();
    await promise;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const last = start();
  await all;
  last.kill("SIGKILL");
  await once(last, "exit");
  const inOrder = [...Array.from({ length: 4 }, () => "budget.warning"), "run.end"];
  expect(firstByTree(receiver.accepted)).toEqual(new Map(trees.map((tree) => [tree, inOrder])));
  const used = new Map<unknown, unknown[]>();
  for (const { data } of receiver.accepted)
    if (data["used"] !== undefined)
      used.set(data["treeId"], [...(used.get(data["treeId"]) ?? []), data["used"]]);
  for (const amounts of used.values()) expect([...new Set(amounts)]).toEqual([81, 82, 83, 84]);
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
