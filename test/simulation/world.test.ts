import { expect, test } from "vitest";
import { World } from "./world.ts";

test("a world that the event loop sets going waits for what is on its way", async () => {
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
