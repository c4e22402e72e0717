import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Json, IncompatibleVersionError } from "#kernel";
import {
  type LogRecord,
  type RestateEngine,
  type RestateOptions,
  type RestateServer,
  restate,
  restateServer,
} from "reeve/engines/restate";
import { fresh, launch, program, settle, waitUntil } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";
import { eventually } from "./worker-process.ts";

let server: RestateServer;
let engine: RestateEngine;
let records: LogRecord[] = [];

beforeAll(async () => {
  server = await restateServer();
});

afterEach(() => engine[Symbol.asyncDispose]());

afterAll(() => server[Symbol.asyncDispose]());

test("the gauges count executions, steps that are kept, and calls from inside steps", async () => {
  await serve();
  expect(engine.gauges()).toMatchObject({
    openExecutions: 0,
    startedExecutions: 0,
    endedExecutions: 0,
    keptSteps: 0,
    gate: { count: 0, p50Ms: null, p95Ms: null },
  });
  const { begun, released, tree } = await launchHeld();
  await begun;
  expect(engine.gauges()).toMatchObject({ openExecutions: 1, startedExecutions: 1, keptSteps: 1 });
  released.resolve(null);
  await waitUntil<string[]>(engine, tree, "words", (words) => words.includes("end"));
  await eventually(() => engine.gauges().openExecutions === 0);
  const { gate, uptimeS, ...counts } = engine.gauges();
  expect(counts).toEqual({ openExecutions: 0, startedExecutions: 1, endedExecutions: 1, keptSteps: 0 });
  expect(gate).toMatchObject({ count: 1, p50Ms: gate.p95Ms });
  expect(gate.sumMs).toBeLessThanOrEqual(gate.p95Ms ?? 0);
  expect(gate.buckets.at(-1)).toEqual({ limitMs: Infinity, count: 1 });
  expect(uptimeS).toBeGreaterThan(0);
});

test("the gauges are served in the Prometheus format", async () => {
  await serve();
  const { released, begun } = await launchHeld();
  await begun;
  const answer = await fetch(`${engine.probes}/metrics`);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4");
  const text = await answer.text();
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      "# TYPE reeve_executions_open gauge",
      "reeve_executions_open 1",
      "reeve_executions_started_total 1",
      "reeve_kept_steps 1",
      "# TYPE reeve_gate_seconds histogram",
      'reeve_gate_seconds_bucket{le="+Inf"} 1',
      "reeve_gate_seconds_count 1",
    ]),
  );
  for (const line of text.trim().split("\n"))
    expect(line).toMatch(
      /^(# TYPE reeve_\w+ (gauge|counter|histogram)|reeve_\w+(\{le="[^"]+"\})? [\d.e-]+)$/,
    );
  released.resolve(null);
});

test("a worker is alive from its start, and ready while it is registered and the server answers", async () => {
  await using own = await restateServer();
  const probePort = await freePort();
  const probes = `http://127.0.0.1:${probePort}`;
  const ready = async (): Promise<unknown> => {
    const answer = await fetch(`${probes}/ready`);
    return [answer.status, await answer.json()];
  };
  await own.stop();
  const served = serve({ ...own, probePort });
  await eventually(() =>
    fetch(`${probes}/health`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  expect(await ready()).toEqual([503, { ready: false, reason: "not registered yet" }]);
  await own.restart();
  await served;
  expect(await ready()).toEqual([200, { ready: true, reason: null }]);
  await own.kill();
  await eventually(async () => (await fetch(`${probes}/ready`)).status === 503);
  expect(await ready()).toEqual([
    503,
    { ready: false, reason: `the ingress ${own.ingress} does not answer` },
  ]);
  expect((await fetch(`${probes}/health`)).status).toBe(200);
});

test("a failure is logged with its run and its stack, and without its message", async () => {
  await serve();
  let attempt = 0;
  const { tree, execution, result } = await launch(engine, async () => {
    attempt += 1;
    if (attempt === 1) throw new RangeError("the prompt: my card is 1234");
    if (attempt === 2) throw new IncompatibleVersionError({ agent: "writer", wanted: "1", present: "2" });
    return "done";
  });
  expect(await result).toBe("done");
  const where = { run: expect.stringContaining(tree.key), tree: tree.key, invocation: execution };
  expect(records).toMatchObject([
    { level: "warn", ...where, error: { name: "RangeError" } },
    {
      level: "warn",
      ...where,
      error: {
        code: "incompatible-version",
        message: "agent writer is at version 2 here; the run began with 1",
      },
    },
  ]);
  expect(records[0]?.error?.stack[0]).toContain("operations.engine.test.ts");
  expect(JSON.stringify(records)).not.toContain("1234");
});

test("only a server that signs with one of the identity keys can call a worker", async () => {
  const { pem, publicKey } = identity();
  const directory = await mkdtemp(join(tmpdir(), "reeve-identity-"));
  const file = join(directory, "key.pem");
  await writeFile(file, pem);
  await using own = await restateServer({ env: { RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: file } });
  const port = await freePort();
  await serve({ ...own, build: "signed", identityKeys: [publicKey] }, port);
  expect(await engine.call(fresh(), "add", 2)).toBe(2);
  expect(await sendUnsigned(port, "/v/signed/discover")).toBe(401);
  expect(await sendUnsigned(port, "/v/signed/invoke/reeve.counter/add")).toBe(401);
  await engine[Symbol.asyncDispose]();
  const other = serve({
    ...own,
    build: "other",
    identityKeys: [identity().publicKey],
    connectTimeoutMs: 200,
  });
  await expect(other).rejects.toMatchObject({ problem: "identity-refused" });
  await rm(directory, { recursive: true });
});

async function serve(options: Partial<RestateOptions> = {}, port = 0): Promise<void> {
  const { ingress, admin } = server;
  const log = (record: LogRecord): void => void records.push(record);
  engine = restate({ ingress, admin, probePort: 0, log, ...options });
  engine.define(program);
  await engine.serve({ port });
  records = [];
}

/** Launches a run with one step, which reports its start and waits to be released; then the run reports `end`. */
async function launchHeld() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<Json>();
  const { tree } = await launch(engine, async (primitives) => {
    const step = primitives.step("held", async (io) => {
      await io.call(primitives.launch.tree, "say", "begun");
      begun.resolve();
      return released.promise;
    });
    await settle(primitives, step);
    return settle(primitives, primitives.call(primitives.launch.tree, "say", "end"));
  });
  return { tree, begun: begun.promise, released };
}

/** Returns the response to an unsigned request. */
async function sendUnsigned(port: number, path: string): Promise<number> {
  const client = connect(`http://127.0.0.1:${port}`);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  client.once("error", reject);
  const method = path.includes("invoke") ? "POST" : "GET";
  const type = "application/vnd.restate.invocation.v6";
  const request = client.request({ ":path": path, ":method": method, "content-type": type });
  request.once("response", (headers) => resolve(Number(headers[":status"])));
  request.once("error", reject);
  request.end();
  const answered = await promise;
  client.destroy();
  return answered;
}

/**
 * Creates a signing key for a server, and the form a worker knows it by: `publickeyv1_` and base58 of the raw public
 * key.
 */
function identity(): { readonly pem: string; readonly publicKey: string } {
  const pair = generateKeyPairSync("ed25519");
  const raw = pair.publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  return {
    pem: pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: `publickeyv1_${base58(raw)}`,
  };
}

function base58(bytes: Buffer): string {
  const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  let number = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = (alphabet[Number(number % 58n)] ?? "") + text;
  // A number has no leading zeros: each zero byte at the start is a digit of its own.
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros) + text;
}
