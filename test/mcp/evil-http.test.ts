import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { agent, createRuntime, secret } from "reeve";
import { mcp, pinTools } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const look = { name: "look", description: "Looks.", inputSchema: { type: "object" } };

/** Answers calls of the tool with the given function, and everything else correctly. */
async function serve(answerCall: (response: ServerResponse, id: unknown) => void) {
  const seen: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push(`${request.headers.authorization}`);
    const { id, method } = JSON.parse((await text(request)) || "{}");
    const reply = (body: object): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    };
    if (method === "tools/call") return answerCall(response, id);
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/list") return reply({ result: { tools: [look] } });
    if (method !== "initialize") return reply({ error: { code: -32_601, message: "not found" } });
    const serverInfo = { name: "evil", version: "1" };
    return reply({ result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } });
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    seen,
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

async function callLook(url: string): Promise<string> {
  const headers = { authorization: secret("Bearer for-this-server-alone") };
  const address = { name: "evil", url, allowHosts: ["127.0.0.1"], headers, timeoutS: 5 };
  await using server = mcp({ ...address, pins: await pinTools(address) });
  const model = scriptedModel([call("evil_look", {}), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [writer] });
  expect(await (await runtime.start(writer, "go")).result()).toMatchObject({ status: "completed" });
  const blocks = model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? [];
  const result = blocks.find((block) => block.type === "tool-result");
  expect(result).toMatchObject({ isError: true });
  return JSON.stringify(result?.content);
}

test.for(["application/json", "text/event-stream"])(
  "an answer of 50 MB as %s is not read to its end",
  async (type) => {
    let sent = 0;
    await using server = await serve((response) => {
      response.writeHead(200, { "content-type": type });
      const piece = Buffer.alloc(65_536, "x");
      const more = (): void => {
        if (sent >= 50_000_000 || response.destroyed) return void response.end();
        sent += piece.length;
        if (response.write(piece)) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    });
    expect(await callLook(server.url)).not.toContain("xxxx");
    expect(sent).toBeLessThan(20_000_000);
  },
);

const nestLists = (levels: number): unknown =>
  Array.from({ length: levels }).reduce((inner: unknown) => [inner], []);
const manyKeys = Object.fromEntries(Array.from({ length: 10_001 }, (_, key) => [`k${key}`, 1]));

test.for<[string, unknown]>([
  ["maxDepth is 64", nestLists(70)],
  ["maxKeys is 10000", manyKeys],
])("a result beyond the limit %s is an error result", async ([limit, structuredContent]) => {
  await using server = await serve((response, id) => {
    response.writeHead(200, { "content-type": "application/json" });
    const result = { content: [{ type: "text", text: "hello" }], structuredContent: { structuredContent } };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const shown = await callLook(server.url);
  expect(shown).toContain(`the result is too large: ${limit}`);
  expect(shown).not.toContain("hello");
});

test("a redirect to another server is not followed, and that server is sent no secret", async () => {
  await using other = await serve(() => undefined);
  await using server = await serve((response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  await callLook(server.url);
  expect(other.seen).toEqual([]);
  expect(server.seen).toContain("Bearer for-this-server-alone");
});

test.for<[string, (response: ServerResponse) => unknown]>([
  ["closes the connection", (response) => response.socket?.destroy()],
  ["answers 502, as a proxy in front of it does", (response) => response.writeHead(502).end()],
  ["answers what is no JSON-RPC", (response) => response.writeHead(200).end("paid")],
])("a call of a server that %s has an unknown outcome", async ([, answerCall]) => {
  await using server = await serve(answerCall);
  expect(await callLook(server.url)).toContain(
    "the outcome of evil_look is unknown: it may or may not have happened",
  );
});

test.for([401, 403, 404, 429])("a call that is refused with %i has failed", async (status) => {
  await using server = await serve((response) => response.writeHead(status).end("not for you"));
  const shown = await callLook(server.url);
  expect(shown).not.toContain("unknown");
  expect(shown).toMatch(/unauthorized|not for you|scope|error posting/i);
});
