// Two processes, one store: a worker runs trees, and another process lists them and watches one as it grows.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentId, createRuntime, type Agent } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";

const researcher: Agent = {
  id: AgentId.of("researcher"),
  run: async (ctx) => {
    for (const page of ["sales", "prices"]) await ctx.emit({ read: page });
    return "two facts";
  },
};
const lead: Agent = {
  id: AgentId.of("lead"),
  run: async (ctx) => {
    const children = await Promise.all([1, 2].map((part) => ctx.spawn(researcher, `part ${part}`)));
    await Promise.all(children.map((each) => ctx.join(each)));
    return "four facts";
  },
};

const [, , ingress, admin, path] = process.argv;
if (ingress && admin && path) {
  const engine = restate({ ingress, admin, log: () => undefined });
  const runtime = createRuntime({ agents: [lead, researcher], engine, store: await sqliteStore({ path }) });
  await runtime.serve({ port: 0 });
  process.send?.("ready");
  process.once("disconnect", () => process.exit());
} else {
  await using server = await restateServer();
  const folder = await mkdtemp(join(tmpdir(), "reeve-list-"));
  const file = join(folder, "store.sqlite");
  const worker = fork(import.meta.filename, [server.ingress, server.admin, file]);
  await once(worker, "message");
  const store = await sqliteStore({ path: file });
  await using runtime = createRuntime({ agents: [lead, researcher], engine: restate(server), store });
  const run = await runtime.start(lead, "Report on heat pumps", { tenant: "acme", user: "ada" });
  for await (const event of run.events()) {
    if (event.type === "progress.emitted") console.log(event.seq, event.runId, event.data);
  }
  const tree = await runtime.runs.tree(run.treeId, { tenant: "acme" });
  console.log(tree.map(({ runId, agentId, status }) => [runId, agentId, status].join(" ")));
  assert.deepEqual(
    tree.map(({ agentId }) => agentId),
    ["lead", "researcher", "researcher"],
  );
  const { items } = await runtime.runs.list({ tenant: "acme", status: "completed", rootsOnly: true });
  assert.equal(items[0]?.userId, "ada");
  assert.equal((await runtime.runs.list({ tenant: "globex" })).items.length, 0); // another tenant sees nothing
  worker.kill("SIGKILL");
  await rm(folder, { recursive: true });
}
