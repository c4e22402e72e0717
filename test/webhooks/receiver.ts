import type { IncomingMessage } from "node:http";
import { ReplayCache, verifyWebhook, type VerifiedWebhook } from "reeve/webhooks";
import { serveOn, type LoopbackServer } from "../net/loopback-servers.ts";

/** A receiver of webhooks that verifies its requests. */
export interface Receiver extends LoopbackServer {
  /** The messages that it has accepted, in the order in which they came. */
  readonly accepted: readonly VerifiedWebhook[];
  /** The number of requests. */
  readonly requests: () => number;
  /** Resolves when so many different messages were accepted. */
  readonly waitForCount: (count: number) => Promise<void>;
}

/** Serves a receiver. `answer` gives the status of a request by its number, from 1; null: it never answers. */
export async function openReceiver({
  secrets,
  answer = () => 200,
  now,
}: {
  readonly secrets: () => readonly string[];
  readonly answer?: (request: number) => number | null;
  /** Default: the machine's clock. */
  readonly now?: () => number;
}): Promise<Receiver> {
  const accepted: VerifiedWebhook[] = [];
  const seen = new ReplayCache();
  const waiting = new Map<() => void, number>();
  let requests = 0;
  const countAccepted = (): number => new Set(accepted.map(({ id }) => id)).size;
  const take = async (request: IncomingMessage): Promise<number | null> => {
    requests += 1;
    const status = answer(requests);
    const body = await read(request);
    if (status !== 200) return status;
    accepted.push(verifyWebhook({ body, headers: request.headers, secrets: secrets(), seen, now: now?.() }));
    for (const [resolve, count] of waiting) if (countAccepted() >= count) resolve();
    return status;
  };
  const server = await serveOn((request, response) => {
    void take(request)
      .catch(() => 401)
      .then((status) => status === null || response.writeHead(status).end());
  });
  return {
    ...server,
    accepted,
    requests: () => requests,
    waitForCount: (count) =>
      new Promise((resolve) => (countAccepted() >= count ? resolve() : waiting.set(resolve, count))),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** Messages by tree, each once, in the order in which they first came. */
export function firstByTree(accepted: readonly VerifiedWebhook[]): ReadonlyMap<unknown, readonly string[]> {
  const ids = new Set<string>();
  const trees = new Map<unknown, string[]>();
  for (const { id, type, data } of accepted) {
    if (ids.has(id)) continue;
    ids.add(id);
    const tree = trees.get(data["treeId"]) ?? [];
    tree.push(type);
    trees.set(data["treeId"], tree);
  }
  return trees;
}

/** Settings under which a receiver on the loopback interface is sent webhooks, and tries follow each other quickly. */
export const loopbackSettings = {
  addresses: { allowHttp: true, allow: ["127.0.0.1"] },
  backoff: { firstMs: 1, maxMs: 50 },
  pollIntervalMs: 20,
  timeoutMs: 1_000,
} as const;
