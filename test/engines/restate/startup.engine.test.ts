import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  type RestateOptions,
  type RestateServer,
  type StartupError,
  restate,
  restateServer,
} from "reeve/engines/restate";
import { counterProgram } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";

let server: RestateServer;
const strangers: Server[] = [];

beforeAll(async () => {
  server = await restateServer();
});

afterEach(() => {
  for (const http of strangers.splice(0)) http.close().closeAllConnections();
});

afterAll(() => server[Symbol.asyncDispose]());

test("an admin address that does not answer is refused with the remedy", async () => {
  const admin = `http://127.0.0.1:${await freePort()}`;
  expect(await failure({ admin })).toEqual([
    "admin-unreachable",
    `Restate's admin ${admin} does not answer: start the server, or correct \`admin\` (usually port 9070)`,
  ]);
});

test("an admin address of another program is refused with the remedy", async () => {
  const { ingress } = server;
  expect(await failure({ admin: ingress })).toEqual([
    "not-an-admin",
    `${ingress} answers, but is not Restate's admin: correct \`admin\` (usually port 9070)`,
  ]);
  expect(await failure({ admin: await serveText("<html>hello</html>") })).toContain("not-an-admin");
});

test.each([
  ["1.6.9", "too old: install a newer one"],
  ["2.0.0", "too new: install a newer reeve"],
])("a server of version %s is refused with the remedy", async (version, remedy) => {
  expect(await failure({ admin: await serveText(JSON.stringify({ version })) })).toEqual([
    "server-version",
    `Reeve needs Restate 1.7 or a later 1.x, and the server is ${version}, ${remedy}`,
  ]);
});

test("an ingress address that does not answer is refused with the remedy", async () => {
  const ingress = `http://127.0.0.1:${await freePort()}`;
  expect(await failure({ ingress })).toEqual([
    "ingress-unreachable",
    `Restate's ingress ${ingress} does not answer: start the server, or correct \`ingress\` (usually port 8080)`,
  ]);
});

test("an ingress address of another program is refused with the remedy", async () => {
  const { admin } = server;
  expect(await failure({ ingress: admin })).toEqual([
    "not-an-ingress",
    `${admin} answers, but is not Restate's ingress: correct \`ingress\` (usually port 8080)`,
  ]);
});

test("a worker that the server cannot reach is refused with the remedy", async () => {
  // All its calls go through a proxy that does not exist, as if it were in another network.
  await using apart = await restateServer({
    env: { RESTATE_HTTP_PROXY: `http://127.0.0.1:${await freePort()}` },
  });
  const [problem, message] = await failure({ ...apart });
  expect(problem).toBe("worker-unreachable");
  expect(message).toMatch(/^the server cannot reach this worker at http:\/\/127\.0\.0\.1:\d+\/v\/.*`host`/);
});

test("a port that is in use is refused with the remedy", async () => {
  const taken = Number(new URL(await serveText("")).port);
  const remedy = "end the process that has it, choose another";
  expect(await failure({}, taken)).toEqual([
    "port-in-use",
    `port ${taken} of 127.0.0.1 is in use: ${remedy} \`port\`, or let workers of one build share it with \`sharePort: true\``,
  ]);
  expect(await failure({ probePort: taken })).toEqual([
    "port-in-use",
    `port ${taken} of 127.0.0.1 is in use: ${remedy} \`probePort\``,
  ]);
});

test("a build with the name of another program is refused", async () => {
  const port = await freePort();
  const serve = async (program: string): Promise<void> => {
    await using engine = restate({ ...server, namespace: "clash", build: "one" });
    engine.define({ ...counterProgram(async () => {}), build: program });
    await engine.serve({ port });
  };
  await serve("first");
  await serve("first");
  await expect(serve("second")).rejects.toMatchObject({
    problem: "build-clash",
    message: `http://127.0.0.1:${port}/v/one is registered with other code: give each program its own \`build\`, or leave \`build\` out`,
  });
});

test("a reachable host is refused without a list of allowed callers", () => {
  expect(() => restate({ ...server, host: "10.0.0.7" })).toThrow(
    "host 10.0.0.7 can be reached from other machines: set `identityKeys`",
  );
});

/** Asserts how serving fails with these options, and that it can be retried. */
async function failure(options: Partial<RestateOptions>, port = 0): Promise<readonly [string, string]> {
  const { ingress, admin } = server;
  await using engine = restate({ ingress, admin, connectTimeoutMs: 200, ...options });
  engine.define(counterProgram(async () => {}));
  const first: StartupError = await engine.serve({ port }).catch((error) => error);
  await expect(engine.serve({ port })).rejects.toThrow(first.message.slice(0, 20));
  return [first.problem, first.message];
}

/** An HTTP server that answers the same to everything. */
async function serveText(body: string): Promise<string> {
  const http = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(http, "listening");
  strangers.push(http);
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}
