import type { ServerResponse } from "node:http";
import type { Reply } from "./reply.ts";

/**
 * Sends a reply as far as the fault allows. Also resolves if the client leaves, which aborts the signal. Resolves in
 * the turn of the event loop in which the last byte is sent, before anything the client does next.
 */
export async function deliver(response: ServerResponse, reply: Reply, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  if (reply.head) {
    response.writeHead(reply.head.status, reply.head.headers);
    await sendBody(response, reply, signal);
  }
  if (reply.ending === "hang") return waitForAbort(signal);
  if (signal.aborted) return;
  switch (reply.ending) {
    case "finish":
      response.end();
      break;
    case "drop":
      response.socket?.destroySoon();
      break;
    case "reset":
      response.socket?.resetAndDestroy();
      break;
  }
}

/** Resolves after so many milliseconds, or as soon as the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });
}

async function sendBody(response: ServerResponse, reply: Reply, signal: AbortSignal): Promise<void> {
  response.flushHeaders();
  if (reply.limitBytes === null && !reply.pace) {
    for (const chunk of reply.chunks) response.write(chunk);
    return;
  }
  const body = Buffer.from(reply.chunks.join("")).subarray(0, reply.limitBytes ?? undefined);
  const size = reply.pace?.bytes ?? Math.max(1, body.length);
  for (let sent = 0; sent < body.length && !signal.aborted; sent += size) {
    if (reply.pace && sent > 0) await pause(reply.pace.everyMs, signal);
    response.write(body.subarray(sent, sent + size));
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
