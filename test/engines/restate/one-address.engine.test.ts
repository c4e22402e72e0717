import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { AgentId, createRuntime, type Agent, type Runtime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
}, 300_000);

afterAll(() => server.stop());

test("two workers behind one address with different ports take over each other's runs", async () => {
  const ports = [await freePort(), await freePort()];
  const [balancer, url] = await balance(ports);
  const currentMessage = Promise.withResolvers<number>();
  const serve = async (port: number): Promise<Runtime> => {
    const agent: Agent = {
      id: AgentId.of("worker"),
      run: (ctx) =>
        ctx.step("work", async () => {
          currentMessage.resolve(port);
          // The first worker that has it never returns from it.
          return port === (await currentMessage.promise) ? new Promise<never>(() => undefined) : port;
        }),
    };
    const runtime = createRuntime({
      agents: [agent],
      engine: restate({
        ingress: server.ingress,
        admin: server.admin,
        url,
        stepRetentionMs: 0,
        log: () => undefined,
      }),
    });
    await runtime.serve({ port });
    return runtime;
  };
  const workers = await Promise.all(ports.map(serve));
  const deployments = await (await fetch(`${server.admin}/deployments`)).text();
  const known = [...deployments.matchAll(/"uri":"([^"]*)"/g)].map(([, uri = ""]) => new URL(uri).origin);
  expect(known).toEqual([url]);

  const starter: Agent = { id: AgentId.of("worker"), run: async () => null };
  await using client = createRuntime({ agents: [starter], engine: restate(server) });
  const run = await client.start(starter, "go");
  const first = ports.indexOf(await currentMessage.promise);
  await workers[first]?.[Symbol.asyncDispose]();
  expect((await run.result()).output).toBe(ports[1 - first]);
  await workers[1 - first]?.[Symbol.asyncDispose]();
  balancer.close();
}, 300_000);

/** Passes each connection to the next port that accepts it. */
async function balance(ports: readonly number[]): Promise<readonly [Server, string]> {
  let next = 0;
  const pass = (client: Socket): void => {
    const behind = connect({ host: "127.0.0.1", port: ports[next++ % ports.length] ?? 0 });
    behind.pipe(client).pipe(behind);
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  };
  const balancer = createServer(pass);
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  const address = balancer.address();
  return [balancer, `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`];
}
