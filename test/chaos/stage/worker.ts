import { appendFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { createRuntime, Json, languageModel } from "reeve";
import { restate } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import { callHeaders, markedEngine } from "../witness/marked-engine.ts";
import { agentsOf } from "../workload/agents.ts";
import { price } from "../workload/price.ts";

/** Settings of a worker. */
export interface WorkerGiven {
  readonly ingress: string;
  readonly admin: string;
  readonly port: number;
  readonly namespace: string;
  readonly double: string;
  readonly sink: string;
  readonly database: string;
  /** Folder of its log and its trace. */
  readonly folder: string;
  /** Default: a hash of the agents. */
  readonly build?: string;
}

const given = Json.as<WorkerGiven>(JSON.parse(process.argv[2] ?? ""));
const write = (file: string, line: object): void =>
  appendFileSync(join(given.folder, `${process.pid}.${file}.jsonl`), `${JSON.stringify(line)}\n`);

const openai = createOpenAI({
  baseURL: given.double,
  apiKey: "none",
  fetch: (url, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(callHeaders())) headers.set(name, value);
    return fetch(url, { ...init, headers });
  },
});
const model = (name: string) => languageModel(openai.chat(name), { price, maxOutputTokens: 500 });
const { ingress, admin, port, namespace, sink, database } = given;
const engine = restate({
  ingress,
  admin,
  namespace,
  ...(given.build !== undefined && { build: given.build }),
  sharePort: true,
  inactivityTimeoutMs: 5_000,
  log: (record) => write("log", { at: Date.now(), ...record }),
});

/** Loaded beforehand, so that it can serve at once. */
async function serve(): Promise<void> {
  const store = await postgresStore({ connectionString: database, maxConnections: 3 });
  const runtime = createRuntime({
    agents: Object.values(agentsOf({ model, sink })),
    engine: markedEngine(engine, (line) => write("trace", line)),
    store,
    yieldTimeoutS: 3,
    eraseAfterS: 5,
  });
  await runtime.serve({ port });
  process.send?.("serving");
}

process.once("message", () => void serve());
process.once("disconnect", () => process.exit());
flushCompileCache(); // a killed worker has no time for it
process.send?.("loaded");
