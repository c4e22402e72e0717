import { getEventListeners } from "node:events";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";

const program = {
  build: "test",
  sinks: [],
  sealing: null,
  run: async () => undefined,
  objects: [
    {
      type: "counter",
      queries: {},
      methods: {
        add: (object: { set(name: string, value: number): void }) => {
          object.set("total", 1);
          return null;
        },
        fail: () => {
          throw new RangeError("out of bounds");
        },
        sendFailing: (object: {
          send(to: { type: string; key: string }, method: string, argument: null): void;
        }) => {
          object.send({ type: "counter", key: "b" }, "fail", null);
          return null;
        },
      },
    },
  ],
};

test("waiting for a change leaves no listener on the signal", async () => {
  await using engine = local();
  engine.define(program);
  const { signal } = new AbortController();
  const object = { type: "counter", key: "a" };
  for (let number = 0; number < 20; number++) {
    const changed = engine.waitForChange(object, { signal });
    await engine.call(object, "add", null);
    await changed;
  }
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("the error of a message between objects is logged as a warning", async () => {
  const warning = new Promise<Error>((resolve) => process.once("warning", resolve));
  await using engine = local();
  engine.define(program);
  await engine.call({ type: "counter", key: "a" }, "sendFailing", null);
  expect((await warning).message).toBe("the message counter.fail failed: out of bounds");
});
