import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Engine, ExecutionPrimitives, Json } from "#kernel";
import { AgentId, createRuntime, type Agent, type Runtime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { counterProgram, fresh, settle } from "./counter-program.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server.stop());

test("two workers behind one address with different ports take over each other's runs", async () => {
  const ports = [await freePort(), await freePort()];
  let next = 0;
  const [balancer, url] = await balance(() => ports[next++ % ports.length]);
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
});

test("a step makes no further call once another worker has its execution", async () => {
  const ports = [await freePort(), await freePort()] as const;
  let served: number = ports[0];
  const [balancer, url] = await balance(() => served);
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const { promise: total, resolve: resolveTotal } = Promise.withResolvers<Json>();
  const serve = async (port: number, run: (primitives: ExecutionPrimitives) => Promise<Json>) => {
    const engine = restate({ ...server, url, log: () => undefined });
    engine.define(counterProgram((primitives) => run(primitives).then(() => undefined)));
    await engine.serve({ port });
    return engine;
  };
  let lateCall: Promise<unknown> = Promise.resolve();
  const first: Engine = await serve(ports[0], (primitives) =>
    settle(
      primitives,
      primitives.step("work", async (io) => {
        begun[0].resolve();
        await begun[1].promise;
        lateCall = io.call(primitives.launch.tree, "add", 1).catch((error: unknown) => error);
        return new Promise<never>(() => undefined);
      }),
    ),
  );
  const second = await serve(ports[1], async (primitives) => {
    const { tree } = primitives.launch;
    const work = primitives.step("work", async (io) => {
      begun[1].resolve();
      // The call of the other worker would be made by now.
      await first.call(tree, "say", "other");
      return io.call(tree, "add", 10);
    });
    const value = await settle(primitives, work);
    resolveTotal(value);
    return value;
  });
  await first.call(fresh(), "launch", null);
  await begun[0].promise;
  served = ports[1];
  await server.kill();
  await server.restart();
  expect(await total).toBe(10);
  await first[Symbol.asyncDispose]();
  expect(await lateCall).toMatchObject({ message: "the execution of this step has ended" });
  await second[Symbol.asyncDispose]();
  balancer.close();
});

/** Passes each connection to the port that is chosen for it. */
async function balance(choosePort: () => number | undefined): Promise<readonly [Server, string]> {
  const pass = (client: Socket): void => {
    const behind = connect({ host: "127.0.0.1", port: choosePort() ?? 0 });
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
