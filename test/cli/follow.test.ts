import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { followRun, type RunUpdate } from "../../src/cli/client/follow.ts";
import { ReeveClient } from "../../src/cli/client/reeve-client.ts";
import { askingTeam } from "./story.ts";

type Answer = (response: ServerResponse, after: number) => void;

/** A server whose n-th connection is answered by the n-th of these; the last one is repeated. */
async function serveAnswers(...answers: readonly Answer[]) {
  let asked = 0;
  const server = createServer((request: IncomingMessage, response) => {
    const answer = answers[Math.min(asked, answers.length - 1)];
    asked += 1;
    answer?.(response, Number(request.headers["last-event-id"]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    client: new ReeveClient({ url: `http://127.0.0.1:${port}`, key: null }),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const { events } = askingTeam();
const frames = (from: number, to: number): string =>
  events
    .slice(from, to)
    .map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
const stream = { "content-type": "text/event-stream" };
const answerAll: Answer = (response, after) =>
  response.writeHead(200, stream).end(`: hello\n\n${frames(after, events.length)}event: end\ndata: {}\n\n`);

const answerAndBreak: Answer = (response, after) => {
  const text = frames(after, events.length);
  response.writeHead(200, stream).write(text.slice(0, text.length / 2), () => response.destroy());
};
const answerUnavailable: Answer = (response) =>
  response.writeHead(503, { "content-type": "application/json" }).end("{}");
const answerWithGap: Answer = (response, after) =>
  response
    .writeHead(200, stream)
    .end(frames(after, 3) + frames(5, events.length) + "event: end\ndata: {}\n\n");
const answerWithoutFirst: Answer = (response, after) =>
  response.writeHead(200, stream).end(frames(Math.max(after, 4), 8));
const answerWithRepeats: Answer = (response) =>
  response.writeHead(200, stream).end(`${frames(0, 5)}${frames(2, events.length)}event: end\ndata: {}\n\n`);
const answerNotFound: Answer = (response) =>
  response
    .writeHead(404, { "content-type": "application/json" })
    .end('{"error":{"code":"not-found","message":"no run heat-pumps~0"}}');

async function readUpdates(client: ReeveClient): Promise<readonly RunUpdate[]> {
  const all: RunUpdate[] = [];
  for await (const followed of followRun(client, "heat-pumps", { signal: new AbortController().signal }))
    all.push(followed);
  return all;
}

const seqs = (all: readonly RunUpdate[]): readonly number[] =>
  all.flatMap((followed) => (followed.kind === "event" ? [followed.event.seq] : []));
const inOrder = events.map(({ seq }) => seq);

test("a connection that breaks in the middle of an event loses none, and repeats none", async () => {
  await using server = await serveAnswers(answerAndBreak, answerAndBreak, answerAndBreak, answerAll);
  const all = await readUpdates(server.client);
  expect(seqs(all)).toEqual(inOrder);
  expect(all.filter(({ kind }) => kind === "lost")).toHaveLength(3);
  expect(all.filter(({ kind }) => kind === "found")).toHaveLength(3);
});

test("a command waits for a server that is away for a while", async () => {
  await using server = await serveAnswers(answerUnavailable, answerUnavailable, answerAll);
  const all = await readUpdates(server.client);
  expect(all.map(({ kind }) => kind).slice(0, 2)).toEqual(["lost", "found"]);
  expect(seqs(all)).toEqual(inOrder);
});

test("an event that is missing is asked for again, and nothing after it is passed on before", async () => {
  await using server = await serveAnswers(answerWithGap, answerAll);
  expect(seqs(await readUpdates(server.client))).toEqual(inOrder);
});

test("an event that stays missing ends the command with a message", async () => {
  await using server = await serveAnswers(answerWithoutFirst);
  await expect(readUpdates(server.client)).rejects.toThrow("event 1 is missing from the stream");
});

test("events that come twice count once", async () => {
  await using server = await serveAnswers(answerWithRepeats);
  expect(seqs(await readUpdates(server.client))).toEqual(inOrder);
});

test("a request that the server refuses is not repeated", async () => {
  await using server = await serveAnswers(answerNotFound, answerAll);
  await expect(readUpdates(server.client)).rejects.toMatchObject({
    exitCode: 4,
    message: "no run heat-pumps~0",
  });
});
