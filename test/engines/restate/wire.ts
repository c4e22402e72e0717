import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";

/** A call on its way to a server. */
export interface Passing {
  readonly method: string;
  readonly body: Buffer;
  /** Brings it to the server, and returns once the server has answered. */
  deliver(): Promise<void>;
  /** Passes the server's answer to the caller. */
  answer(): void;
  /** Closes the caller's connection. */
  hangUp(): void;
}

interface Reply {
  readonly status: number;
  readonly body: Buffer | string;
}

/** An unreliable connection between a worker and a server's ingress. The caller waits for the test's decision. */
export async function wire(
  ingress: string,
  decide: (call: Passing) => Promise<void>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((incoming, outgoing) => {
    void buffer(incoming).then(async (body) => {
      let reply: Reply = { status: 502, body: "no server was asked" };
      await decide({
        method: incoming.url?.split("/").at(-1) ?? "",
        body,
        deliver: async () => void (reply = await passOn(ingress, incoming, body)),
        answer: () => void outgoing.writeHead(reply.status).end(reply.body),
        hangUp: () => void incoming.socket.destroy(),
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

async function passOn(
  ingress: string,
  { url = "", method = "", headers }: IncomingMessage,
  body: Buffer,
): Promise<Reply> {
  const sent = request(new URL(url, ingress), { method, headers });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve).once("error", reject).end(body);
  });
  return { status: response.statusCode ?? 0, body: await buffer(response) };
}
