import { expect, test } from "vitest";
import { Turns } from "../../src/server/turns.ts";

/** Keeps the processor busy, and lets the event loop go on. Returns a function that ends it. */
function keepBusy(): () => void {
  let isOver = false;
  const spin = (): void => {
    const end = performance.now() + 2;
    while (performance.now() < end);
    if (!isOver) setImmediate(spin);
  };
  spin();
  return () => void (isOver = true);
}

/** Lets the event loop turn for a while. */
async function turnLoop(times: number): Promise<void> {
  for (let turn = 0; turn < times; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("while the processor is busy, requests of one key are worked on one after the other, those of others at once", async () => {
  const turns = new Turns();
  const stop = keepBusy();
  const begun: string[] = [];
  const end = await turns.take("loud");
  const waiting = [1, 2].map(async (number) => {
    const endNext = await turns.take("loud");
    begun.push(`loud ${number}`);
    return endNext;
  });
  await turnLoop(50);
  expect(begun).toEqual([]);
  (await turns.take("quiet"))();
  end();
  // Ending a turn twice frees no second place.
  end();
  await turnLoop(50);
  expect(begun).toEqual(["loud 1"]);
  (await waiting[0])?.();
  await waiting[1];
  stop();
});

test("a request that only waits keeps no other from its turn", async () => {
  const turns = new Turns();
  await turns.take("loud");
  const end = await turns.take("loud");
  end();
  (await turns.take("loud"))();
});
