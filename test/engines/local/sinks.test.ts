import { expect, test } from "vitest";
import type { Json } from "#kernel";
import { local } from "reeve/engines/local";
import { fresh, program, waitUntil } from "../restate/counter-program.ts";

test("a sink's call is made once, however often the sink is retried", async () => {
  await using engine = local();
  engine.define(program);
  const object = fresh();
  await engine.call(object, "tally", 3);
  const said = await waitUntil<Json[]>(engine, object, "words", ({ length }) => length > 0);
  expect(said).toEqual([[1, 11, true]]);
  expect(await engine.call(object, "total", null)).toBe(11);
});
