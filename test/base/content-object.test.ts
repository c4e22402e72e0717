import { randomBytes } from "node:crypto";
import { local } from "reeve/engines/local";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { contentObject, ContentPort } from "#base";
import type { CallObject } from "#kernel";

const key = "-/tree";

function harness() {
  const clock = manualClock();
  const engine = local({ clock });
  engine.define({ build: "", objects: [contentObject], sinks: [], sealing: null, run: async () => {} });
  const methods: string[] = [];
  const call: CallObject = (to, method, argument) => {
    methods.push(method);
    return engine.call(to, method, argument);
  };
  const ask = (method: string) => call({ type: "content", key }, method, null);
  return { clock, methods, ask, port: new ContentPort(call, key) };
}

const kept = { expires: false };

test.each([1, 100, 3_145_728, 3_145_729, 7_000_001])("%i bytes are read back unchanged", async (bytes) => {
  const { port } = harness();
  const given = randomBytes(bytes);
  await port.put("name", given, kept);
  expect((await port.get({ name: "name", bytes })) === given.toString("base64")).toBe(true);
});

test("stored content is not sent again", async () => {
  const { port, methods } = harness();
  await port.put("name", randomBytes(7_000_000), kept);
  await port.put("name", randomBytes(7_000_000), kept);
  expect(methods).toEqual(["has", "put", "put", "put", "has"]);
});

test("incomplete content counts as missing", async () => {
  const { port } = harness();
  await port.put("name", randomBytes(10), kept);
  expect(await port.get({ name: "name", bytes: 11 })).toBe(null);
  expect(await port.get({ name: "other", bytes: 10 })).toBe(null);
});

test("a closed object has no content, and takes none", async () => {
  const { port, ask } = harness();
  await port.put("name", randomBytes(10), kept);
  await ask("close");
  await port.put("other", randomBytes(10), kept);
  expect(await port.get({ name: "name", bytes: 10 })).toBe(null);
  expect(await port.get({ name: "other", bytes: 10 })).toBe(null);
});

test.each([
  ["that no tree claims is removed after an hour", false],
  ["that a tree claims stays", true],
])("content %s", async (_, isClaimed) => {
  const { port, ask, clock } = harness();
  await port.put("name", randomBytes(10), { expires: true });
  if (isClaimed) await ask("claim");
  await clock.advance(3_600_000);
  expect((await port.get({ name: "name", bytes: 10 })) !== null).toBe(isClaimed);
});
