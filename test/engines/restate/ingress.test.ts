import { once } from "node:events";
import { createServer } from "node:http";
import { SealBrokenError } from "#kernel";
import { Seals } from "#sealing";
import { expect, test } from "vitest";
import { Ingress } from "../../../src/engines/restate/client/ingress.ts";
import { ServiceNames } from "../../../src/engines/restate/service-names.ts";

/** A server that gives these answers, in order. */
async function serveAnswers(
  statuses: readonly number[],
): Promise<AsyncDisposable & { readonly url: string; readonly countLeft: () => number }> {
  const left = [...statuses];
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    const status = left.shift() ?? 200;
    outgoing.writeHead(status).end(status === 200 ? "answer" : "not now");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    countLeft: () => left.length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

function ingressTo(...urls: readonly string[]): Ingress {
  const seals = new Seals({ getRing: async () => [{ id: "key", secret: new Uint8Array(32) }] });
  return new Ingress({ urls, names: new ServiceNames("test"), seals, connectTimeoutMs: 20_000 });
}

const call = { to: { type: "object", key: "key" }, method: "method", argument: null };

test.each([429, 502, 503, 504])(
  "a call answered with status %i is made again, at the next node",
  async (status) => {
    await using busy = await serveAnswers([status, status]);
    await using ready = await serveAnswers([]);
    const ingress = ingressTo(busy.url, ready.url);
    // It is answered, but not by a worker that has the key.
    await expect(ingress.call(call)).rejects.toThrow(SealBrokenError);
    expect(busy.countLeft()).toBe(1);
    ingress.close();
  },
);

test("a call answered with status 500 is not made again", async () => {
  await using failing = await serveAnswers([500]);
  const ingress = ingressTo(failing.url);
  await expect(ingress.call(call)).rejects.toThrow("Restate answered 500");
  ingress.close();
});
