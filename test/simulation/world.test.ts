import { expect, test } from "vitest";
import { World } from "./world.ts";

test("a world driven by the event loop waits for pending work", async () => {
  const world = new World();
  const story = async (): Promise<string> => {
    for (let awaited = 0; awaited < 10; awaited++) await Promise.resolve();
    await world.turn();
    return "over";
  };
  const outcome = new Promise((resolve) => {
    setImmediate(() => resolve(world.run(story(), { age: 1 })));
  });
  expect(await outcome).toBe("over");
});
