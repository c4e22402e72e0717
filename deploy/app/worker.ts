import { hostname } from "node:os";
import { createRuntime } from "reeve";
import { restate } from "reeve/engines/restate";
import { writer } from "./agents.ts";
import { number, openStore, restateAt } from "./environment.ts";

const host = process.env["HOST"] ?? "127.0.0.1";
const url = process.env["WORKER_URL"];
const identityKeys = (process.env["IDENTITY_KEYS"] ?? "").split(",").filter((key) => key !== "");

const engine = restate({
  ...restateAt(),
  host,
  identityKeys,
  ...(url !== undefined && { url }),
  probePort: number("PROBE_PORT", 9081),
  drainOnSigtermMs: number("DRAIN_MS", 25_000),
});
const runtime = createRuntime({ agents: [writer], engine, store: await openStore() });
const deltas = number("DELTAS_PORT", 9082);
const address = process.env["POD_IP"] ?? (host === "0.0.0.0" ? hostname() : host);
await runtime.serve({
  port: number("PORT", 9080),
  deltas: { host, port: deltas, url: `http://${address}:${deltas}` },
});
