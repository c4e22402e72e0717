import { globSync } from "node:fs";
import { type RestateServer, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { confine, runExample } from "./run-example.ts";
import { sample } from "./effort.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

// Without a server, all examples run in every script.
const files = sample(globSync("examples/[0-9]*.ts").toSorted(), 0.2);

test.each(files)("%s holds on a Restate server", async (file) => {
  const env = { REEVE_ENGINE: "restate", REEVE_INGRESS: server.ingress, REEVE_ADMIN: server.admin };
  expect(warningsIn(await runExample(file, { env, flags: confine(file) }))).toEqual([]);
});

/** Returns a worker's log apart from the line that it serves. */
function warningsIn(log: string): readonly string[] {
  return log.split("\n").filter((line) => line !== "" && !line.includes('"level":"info"'));
}
