import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { showRollover } from "../rollover-case.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

test("3.3 a call is charged to the day in which it was reserved", async () => {
  const port = await freePort();
  const engine = restate({ ...server, namespace: "rollover", log: () => {} });
  await showRollover(engine, (runtime) => runtime.serve({ port, deltas: null }));
});
