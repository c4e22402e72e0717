import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { AgentId, createRuntime, type Agent, type RunHandle } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { fakeProvider, type ProviderRequest, type FakeProvider } from "reeve/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";

const price = { input: 1_000_000, output: 2_000_000 };
let server: RestateServer;
let double: FakeProvider;
let held: PromiseWithResolvers<void>;
const workers: ChildProcess[] = [];
let port: number;

/** The requests the double was sent, by model: the witness. */
let requests: string[] = [];
/** Number of times `stuck` and `mail` hang before they answer. */
let hangs = 1;
const countRequests = (model: string): number => requests.filter((name) => name === model).length;

/** `stuck` and `mail` hang the first time they are asked, or the first few; then they answer. */
async function script({ model }: ProviderRequest): Promise<{ text: string }> {
  requests.push(model);
  if (model !== "quick" && countRequests(model) <= hangs) await held.promise;
  return { text: `${model} answers` };
}

beforeAll(async () => {
  server = await restateServer();
});

beforeEach(async () => {
  held = Promise.withResolvers();
  requests = [];
  hangs = 1;
  double = await fakeProvider({ script });
  port = await freePort();
});

afterEach(async () => {
  held.resolve();
  await Promise.all(workers.splice(0).map(kill));
  await double.close();
});

afterAll(() => server.stop());

test("5.4 after a kill inside a model step the lost attempt stays in doubt, and the call is made once more", async () => {
  const run = await start("inside", { budget: { maxTokens: 20_000 } });
  await killAndReplace(() => countRequests("stuck") >= 1);
  const result = await run.result();
  expect(result).toMatchObject({
    status: "completed",
    output: ["quick answers", "stuck answers", "quick answers"],
  });
  expect([countRequests("quick"), countRequests("stuck")]).toEqual([2, 2]);
  expect(result.inDoubtMicros).toBeGreaterThan(0);
  // The provider completes and bills the lost call: the amount in doubt covers it.
  held.resolve();
  await waitUntil(async () => double.bill.entries.length === 4);
  const bill = double.bill.costMicros({ quick: price, stuck: price });
  expect(bill).toBeGreaterThan(result.costMicros - result.inDoubtMicros);
  expect(bill).toBeLessThanOrEqual(result.costMicros);
});

test("5.1 after a kill between two steps recorded calls are not repeated", async () => {
  const run = await start("between");
  await waitUntil(async () => (await run.status()) === "waiting");
  await killAndReplace(() => true);
  await run.signal("go");
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: ["quick answers", "quick answers"],
  });
  expect(countRequests("quick")).toBe(2);
});

test("5.3 after a kill inside a tool that reports the tool is not run again, and its outcome is unknown", async () => {
  const run = await start("mailer-report");
  await killAndReplace(() => countRequests("mail") >= 1);
  expect((await run.result()).output).toEqual({ isError: true, value: null });
  expect(countRequests("mail")).toBe(1);
});

test("5.3 after a kill inside a tool that reruns the tool is run again with the same key", async () => {
  const run = await start("mailer-rerun");
  await killAndReplace(() => countRequests("mail") >= 1);
  expect((await run.result()).output).toEqual({ isError: false, value: "mail answers" });
  expect(countRequests("mail")).toBe(2);
});

test("5.3 after a kill inside a tool that asks a person decides", async () => {
  const run = await start("mailer-ask");
  await killAndReplace(() => countRequests("mail") >= 1);
  for await (const event of run.events()) {
    if (event.type === "approval.requested") await run.approve(event.approvalId);
  }
  expect((await run.result()).output).toEqual({ isError: false, value: "mail answers" });
});

test("5.3 after a second kill inside a tool that asks the first decision does not count", async () => {
  hangs = 2;
  const run = await start("mailer-ask");
  await killAndReplace(() => countRequests("mail") >= 1);
  const decisions = ["rerun", "never mind"];
  for await (const event of run.events()) {
    if (event.type !== "approval.requested") continue;
    const decision = decisions.shift() ?? "asked too often";
    await (decision === "rerun" ? run.approve(event.approvalId) : run.deny(event.approvalId));
    if (decision === "rerun") await killAndReplace(() => countRequests("mail") >= 2);
  }
  expect((await run.result()).output).toEqual({ isError: true, value: null });
  expect([countRequests("mail"), decisions]).toEqual([2, []]);
});

test("5.1 a run killed after its tree ended it, before its journal has the end, ends once", async () => {
  await using proxy = await proxyTo(server.ingress, async (path) => {
    // Restate has the answer; the calling worker is killed before it receives it.
    if (!/\.tree\/.*\/end$/.test(path) || proxy.ends++ > 0) return;
    await Promise.all(workers.splice(0).map(kill));
  });
  const run = await start("once", {}, proxy.url);
  await waitUntil(async () => proxy.ends > 0 && workers.length === 0);
  await startWorker(proxy.url);
  expect(await run.result()).toMatchObject({ status: "completed", output: "quick answers" });
  let ends = 0;
  for await (const { type } of run.events()) if (type === "run.end") ends += 1;
  expect(ends).toBe(1);
  // The second execution ends, too.
  await waitUntil(async () => proxy.ends > 1 && (await openExecutions()) === 0);
  expect(countRequests("quick")).toBe(1);
});

/** Returns how many executions of runs the server has that are not over. */
async function openExecutions(): Promise<number> {
  const query =
    "SELECT id FROM sys_invocation WHERE target_service_name = 'reeve.run' AND status != 'completed'";
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows }: { readonly rows: readonly unknown[] } = JSON.parse(await answer.text());
  return rows.length;
}

/** An HTTP proxy that shows each answer's path before it passes the answer on. */
async function proxyTo(
  target: string,
  onAnswer: (path: string) => Promise<void>,
): Promise<{ readonly url: string; ends: number; [Symbol.asyncDispose](): Promise<void> }> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = "/" } = incoming;
    const forwarded = request(new URL(url, target), { method, headers }, (answer) => {
      void onAnswer(url).then(() => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
    });
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  const proxyPort = await freePort();
  await new Promise<void>((resolve) => proxy.listen(proxyPort, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${proxyPort}`,
    ends: 0,
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function start(name: string, options = {}, ingress = server.ingress): Promise<RunHandle> {
  await startWorker(ingress);
  // Only starts trees here: the agents' code is in the workers.
  const agent: Agent = { id: AgentId.of(name), run: async () => null };
  const runtime = createRuntime({ agents: [agent], engine: restate(server) });
  return runtime.start(agent, "go", options);
}

async function killAndReplace(isTime: () => boolean): Promise<void> {
  await waitUntil(async () => isTime());
  await Promise.all(workers.splice(0).map(kill));
  await startWorker();
}

async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("it did not come to that");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function startWorker(ingress = server.ingress): Promise<void> {
  const file = join(import.meta.dirname, "fixtures/agents-worker.ts");
  const given = ["--conditions=reeve-source", file, ingress, server.admin, String(port), double.baseURL];
  const worker = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  workers.push(worker);
  await once(worker.stdout, "data");
}

async function kill(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, "exit");
  worker.kill("SIGKILL");
  await ended;
}
