// Disk usage of runs: bytes in PostgreSQL per event and run, and in Restate's folder per step.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentId, type Agent, ChatMessage, createRuntime, type Model } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import { postgresServer } from "../../test/stores/postgres-server.ts";

const runs = Number(process.env["BENCH_RUNS"] ?? 500);
const stepsPerRun = 10;

const model: Model = {
  id: "instant",
  generate: async () => ({
    message: ChatMessage.assistant("x".repeat(2_000)),
    finishReason: "stop",
    usage: { input: 10, output: 5 },
  }),
};

const worker: Agent = {
  id: AgentId.of("worker"),
  model,
  async run(ctx) {
    for (let step = 0; step < stepsPerRun; step++) await ctx.llm([ChatMessage.user("go on")]);
    await ctx.waitFor("go");
  },
};

await using database = await postgresServer();
const connectionString = await database.database();
const baseDir = mkdtempSync(join(tmpdir(), "reeve-footprint-"));
await using server = await restateServer({ baseDir });
const size = async (): Promise<{
  readonly restate: number;
  readonly tables: ReadonlyMap<string, number>;
}> => {
  const [bytes = "0"] = execFileSync("du", ["-sb", baseDir], { encoding: "utf8" }).split("\t");
  const rows = await database.query(
    "select relname, pg_total_relation_size(oid) as bytes from pg_class where relname like 'reeve_%' and relkind = 'r'",
    connectionString,
  );
  return {
    restate: Number(bytes),
    tables: new Map(rows.map((row) => [String(row["relname"]), Number(row["bytes"])])),
  };
};

/** Returns the number of stored events once it no longer grows: they arrive after the results. */
async function countWrittenEvents(): Promise<number> {
  let [before, events] = [-1, 0];
  while (events > before) {
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    before = events;
    const [row] = await database.query("select count(*) as events from reeve_event", connectionString);
    events = Number(row?.["events"]);
  }
  return events;
}

const store = await postgresStore({ connectionString });
await using runtime = createRuntime({
  agents: [worker],
  engine: restate({ ingress: server.ingress, admin: server.admin, log: () => undefined }),
  store,
});
await runtime.serve({ port: 0 });
const before = await size();
const handles = await Promise.all(Array.from({ length: runs }, () => runtime.start(worker, "go")));
const statuses = (): Promise<readonly string[]> => Promise.all(handles.map((run) => run.status()));
while (!(await statuses()).every((status) => status === "waiting"))
  await new Promise((resolve) => setTimeout(resolve, 200));
const parked = await size();
await Promise.all(handles.map((run) => run.signal("go")));
await Promise.all(handles.map((run) => run.result()));
const events = await countWrittenEvents();
const after = await size();

const grown = (name: string): number => (after.tables.get(name) ?? 0) - (before.tables.get(name) ?? 0);
console.log(`${runs} runs of ${stepsPerRun} model calls that answer 2 kB, ${events} events`);
console.log(`events of a model call: ${((events / runs - 3) / stepsPerRun).toFixed(2)}`);
console.log(`PostgreSQL, bytes of an event: ${Math.round(grown("reeve_event") / events)}`);
for (const name of after.tables.keys())
  console.log(`  ${name}: ${Math.round(grown(name) / runs)} bytes a run`);
console.log(`Restate, bytes of a parked run: ${Math.round((parked.restate - before.restate) / runs)}`);
console.log(`Restate, bytes a step: ${Math.round((parked.restate - before.restate) / runs / stepsPerRun)}`);
await store[Symbol.asyncDispose]();
process.once("exit", () => rmSync(baseDir, { recursive: true, force: true }));
