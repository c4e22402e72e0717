import { once } from "node:events";
import { createServer } from "node:net";
import { createOpenAI } from "@ai-sdk/openai";
import { expect, test } from "vitest";
import { CancellationError, ModelError } from "#kernel";
import { languageModel } from "#models";
import { cannedBeginning } from "./canned-answers.ts";
import { cannedServer, portOf, type Canned } from "./canned-server.ts";
import { anthropicError, facts } from "./known-failures.ts";
import { ask, realModel, ways, wires, type Way, type Wire } from "./real-providers.ts";

async function failure(wire: Wire, way: Way, canned: Canned): Promise<ModelError> {
  await using server = await cannedServer(canned);
  const error = await ask(realModel(wire, server.url), way).then(
    () => expect.unreachable("the call must fail"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw new Error("not a ModelError", { cause: error });
  return error;
}

const cases = facts.flatMap(({ wires: on, ...fact }) =>
  on.flatMap((wire) => ways.map((way) => ({ ...fact, wire, way }))),
);

test.for(cases)("$wire, $way: $says is $kind", async ({ wire, way, canned, kind, unbilled, ...fact }) => {
  const error = await failure(wire, way, canned);
  const { status, retryAfterMs = null } = { ...canned, ...fact };
  expect(error).toMatchObject({ kind, unbilled, retryAfterMs, ...(status && { statusCode: status }) });
});

test.for(wires.flatMap((wire) => ways.map((way) => ({ wire, way }))))(
  "$wire, $way: an answer that breaks off is a server error with status 200, and may have cost something",
  async ({ wire, way }) => {
    const error = await failure(wire, way, cannedBeginning(wire, way, "cut"));
    expect(error).toMatchObject({ kind: "server-error", statusCode: 200, unbilled: false });
  },
);

test.for(wires.flatMap((wire) => ways.map((way) => ({ wire, way }))))(
  "$wire, $way: a refused connection is a server error that cost nothing",
  async ({ wire, way }) => {
    const port = await unusedPort();
    const model = realModel(wire, `http://127.0.0.1:${port}/v1`);
    await expect(ask(model, way)).rejects.toMatchObject({
      kind: "server-error",
      statusCode: null,
      unbilled: true,
    });
  },
);

test.for(wires)("%s: a connection that is reset before an answer may have cost something", async (wire) => {
  const server = createServer((socket) => {
    socket.once("data", () => socket.resetAndDestroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  await expect(ask(realModel(wire, `http://127.0.0.1:${port}/v1`), "whole")).rejects.toMatchObject({
    kind: "server-error",
    statusCode: null,
    unbilled: false,
  });
  server.close();
});

test("an Anthropic overload before the first token is an overload that cost nothing", async () => {
  const body = [anthropicError("overloaded_error", "Overloaded")];
  const error = await failure("anthropic", "streamed", { body });
  expect(error).toMatchObject({ kind: "overloaded", statusCode: 529, unbilled: true });
});

test("an Anthropic overload in mid-stream is a plain object, and an overload that may have cost something", async () => {
  const { body } = cannedBeginning("anthropic", "streamed", "end");
  const error = await failure("anthropic", "streamed", {
    body: [body, anthropicError("overloaded_error", "Overloaded")].flat(),
  });
  expect(error).toMatchObject({ kind: "overloaded", unbilled: false });
});

test.for(["openai chat", "openai-compatible"] as const)(
  "%s: an error in mid-stream is classified by its code",
  async (wire) => {
    const limited = { error: { message: "slow down", type: "requests", code: "rate_limit_exceeded" } };
    const { body } = cannedBeginning(wire, "streamed", "end");
    const error = await failure(wire, "streamed", { body: [body, limited].flat() });
    expect(error).toMatchObject({ kind: "rate-limit", unbilled: false });
  },
);

test.for(wires)("%s: a stream that ends without its end is a server error", async (wire) => {
  const error = await failure(wire, "streamed", cannedBeginning(wire, "streamed", "end"));
  expect(error).toMatchObject({ kind: "server-error", unbilled: false });
});

test("a response that fails before its first token is classified by its code", async () => {
  const overflow = await failure("openai responses", "streamed", {
    body: failedResponse("context_length_exceeded"),
  });
  expect(overflow).toMatchObject({ kind: "context-overflow", unbilled: true });
  const broken = await failure("openai responses", "streamed", { body: failedResponse("server_error") });
  expect(broken).toMatchObject({ kind: "server-error", unbilled: false });
});

test.for(wires.flatMap((wire) => ways.map((way) => ({ wire, way }))))(
  "$wire, $way: an abort throws its own reason, unchanged, and closes the connection",
  async ({ wire, way }) => {
    await using server = await cannedServer(cannedBeginning(wire, way, "hang"));
    const controller = new AbortController();
    const reason = new CancellationError({ reason: "user" });
    const answer = ask(realModel(wire, server.url), way, { signal: controller.signal });
    const thrown = answer.catch((error: unknown) => error);
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(reason);
    expect(await thrown).toBe(reason);
    await expect.poll(server.countAbandoned).toBe(1);
  },
);

test("a call with an aborted signal is not made", async () => {
  await using server = await cannedServer({ body: {} });
  const reason = new CancellationError({ reason: "deadline" });
  const answer = ask(realModel("anthropic", server.url), "whole", { signal: AbortSignal.abort(reason) });
  await expect(answer).rejects.toBe(reason);
  expect(server.requests).toEqual([]);
});

test("a timeout of the provider's own fetch is a timeout that may have cost something", async () => {
  await using server = await cannedServer({ body: '{"id":', after: "hang" });
  const provider = createOpenAI({ baseURL: server.url, apiKey: "k", fetch: fetchWithTimeout });
  await expect(ask(languageModel(provider.chat("gpt-4o")), "whole")).rejects.toMatchObject({
    kind: "timeout",
    unbilled: false,
  });
});

test("a missing key is reported before anything is sent", async () => {
  const model = languageModel(createOpenAI({ baseURL: "http://127.0.0.1:9/v1" }).chat("gpt-4o"));
  await expect(ask(model, "whole")).rejects.toMatchObject({ kind: "auth", unbilled: true });
});

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}

const fetchWithTimeout: typeof fetch = (url, init) =>
  fetch(url, { ...init, signal: AbortSignal.timeout(50) });

const failedResponse = (code: string) => [
  { type: "response.created", sequence_number: 0, response: { id: "r", created_at: 1, model: "gpt-5" } },
  {
    type: "response.failed",
    sequence_number: 1,
    response: { error: { code, message: "no" }, incomplete_details: null, usage: null },
  },
];
