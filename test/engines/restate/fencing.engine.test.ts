import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { showFencing, showReservationOfAnotherExecution } from "../fencing-case.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

test("5.4 the newest execution wins at the gate", async () => {
  const port = await freePort();
  const engine = restate({ ...server, namespace: "fencing", log: () => {} });
  await showFencing(engine, (runtime) => runtime.serve({ port, deltas: null }));
});

test("3.7 a reservation of an execution that was left behind ends with its step", async () => {
  const port = await freePort();
  const engine = restate({ ...server, namespace: "left-behind", log: () => {} });
  await showReservationOfAnotherExecution(engine, (runtime) => runtime.serve({ port, deltas: null }));
});
