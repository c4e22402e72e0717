import { DatabaseSync } from "node:sqlite";
import { restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Talk } from "./scenarios/talk.ts";
import { expectWithin } from "../../effort.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

/** Counts writes to a database, except the lease renewals of workers. */
function watchWrites(path: string): { readonly stop: () => number } {
  const file = new DatabaseSync(path, { readOnly: true });
  const version = file.prepare("pragma data_version");
  const listed = file.prepare("select * from reeve_worker order by worker_id");
  const look = () => ({ version: version.get()?.["data_version"], workers: JSON.stringify(listed.all()) });
  let known = look();
  let writes = 0;
  const compare = (): void => {
    const now = look();
    if (now.version !== known.version && now.workers === known.workers) writes += 1;
    known = now;
  };
  const timer = setInterval(compare, 20);
  return {
    stop: () => {
      clearInterval(timer);
      compare();
      file.close();
      return writes;
    },
  };
}

test("2,000 pieces a second reach 50 readers elsewhere whole and in order, and no database", async () => {
  const { talk, worker } = await Talk.start(server);
  await using _ = talk;
  const readers = talk.readers(50);
  await readers.hear("heard");
  const writes = watchWrites(talk.store);
  worker.order({ do: "talk", perSecond: 2_000, pieces: 8_000, size: 20 });
  const { tookMs } = await worker.hear("said");
  expect(writes.stop()).toBe(0);
  worker.order({ do: "answer" });
  const { whole, latencies, frames } = await readers.hear("over");
  expect(whole).toBe(50);
  expect(latencies.length).toBe(50 * 8_000);
  // A piece is a frame here: each reader has the greeting, one for every 50 ms as a clock measures them, and the last.
  expect(frames).toBeLessThanOrEqual(50 * (tookMs / 49 + 2));
  expectWithin(1_000, latencies.toSorted((one, other) => one - other)[0.95 * latencies.length] ?? Infinity);
});

test("stuck and stopped readers are disconnected with an error, and a reader that keeps up gets everything", async () => {
  const { talk, worker } = await Talk.start(server);
  await using _ = talk;
  const [keen, stuck, stopped] = [talk.readers(1), talk.readers(1, "stuck"), talk.readers(1)];
  for (const each of [keen, stuck, stopped]) await each.hear("heard");
  stopped.process.kill("SIGSTOP");
  // More than the system buffers, never more at once than may wait for a reader: only one that does not read falls behind.
  for (let shown = 40; shown <= 2_000; shown += 40) {
    worker.order({ do: "talk", perSecond: 500, pieces: 40, size: 20_000 });
    await worker.hear("said");
    keen.order({ do: "tell", shown });
    await keen.hear("shown");
  }
  stuck.order({ do: "go" });
  expect((await stuck.hear("cut")).reason).toBe("too-slow");
  stopped.process.kill("SIGCONT");
  expect((await stopped.hear("cut")).reason).toBe("too-slow");
  worker.order({ do: "answer" });
  expect((await keen.hear("over")).latencies.length).toBe(2_000);
});

test("when a worker is killed, the answer restarts for its subscribers", async () => {
  const { talk, worker } = await Talk.start(server);
  await using _ = talk;
  const reader = talk.readers(1);
  expect((await reader.hear("heard")).attempts.length).toBe(1);
  worker.order({ do: "talk", perSecond: 2_000, pieces: 500, size: 20 });
  await worker.hear("said");
  await worker.kill();
  const next = await talk.serve();
  await next.hear("asked");
  const { attempts } = await reader.hear("heard");
  expect(new Set(attempts).size).toBe(2);
  next.order({ do: "talk", perSecond: 2_000, pieces: 500, size: 20 });
  await next.hear("said");
  next.order({ do: "answer" });
  expect((await reader.hear("over")).whole).toBe(1);
});
