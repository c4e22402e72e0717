import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Server } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { isJsonObject, Json, type JsonObject } from "#kernel";

/** One fixed response for every request. */
export interface Canned {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string as it is, a list as server-sent events, anything else as JSON. */
  readonly body: unknown;
  /** `cut` breaks the connection after the body, `hang` keeps it open and silent. Default end. */
  readonly after?: "end" | "cut" | "hang";
}

/** A server on loopback that always answers the same. */
export interface CannedServer extends AsyncDisposable {
  readonly url: string;
  /** The decoded requests. */
  readonly requests: readonly JsonObject[];
  /** Connections that the other side gave up while an answer was still to come. */
  readonly countAbandoned: () => number;
}

export async function cannedServer(canned: Canned): Promise<CannedServer> {
  const requests: JsonObject[] = [];
  let abandoned = 0;
  const server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished && canned.after === "hang") abandoned++;
    });
    void text(request).then((body) => {
      requests.push(Json.as(JSON.parse(body)));
      return answer(response, canned);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server)}/v1`,
    requests,
    countAbandoned: () => abandoned,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function answer(response: ServerResponse, { status = 200, headers, body, after = "end" }: Canned) {
  const events = Array.isArray(body);
  response.writeHead(status, {
    "content-type": events ? "text/event-stream" : "application/json",
    // A promise of more than there is: the connection that breaks is then seen to break.
    ...(after === "cut" && !events && { "content-length": "1000000" }),
    ...headers,
  });
  response.write(typeof body === "string" ? body : events ? eventsOf(body) : JSON.stringify(body));
  if (after === "end") response.end();
  if (after === "cut") {
    await setTimeout(20);
    response.destroy();
  }
}

function eventsOf(events: readonly unknown[]): string {
  return events
    .map((event) => {
      const type = isJsonObject(event) ? event["type"] : undefined;
      const name = typeof type === "string" ? `event: ${type}\n` : "";
      return `${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
    })
    .join("");
}

/** Returns the port of a server. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen");
  return address.port;
}
