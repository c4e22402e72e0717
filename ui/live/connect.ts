// oxlint-disable-next-line import/default -- the bundler makes it
import workerAddress from "./live-worker.ts?sharedworker&url";
import { LiveHub } from "./live-hub.ts";
import type { LiveMessage, TabMessage } from "./messages.ts";

/** A tab's line to the hub. */
export interface HubLine {
  send(message: TabMessage): void;
  close(): void;
}

/** The callbacks of a tab that is connected to the hub. `onBegin`: the hub is new and has no state of the tab. */
export interface LineHandlers {
  readonly onMessage: (message: LiveMessage) => void;
  readonly onBegin: () => void;
}

/** A channel has no target: only pages of this origin receive it. */
function sendOn(channel: BroadcastChannel, message: ChannelMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is not a window
  channel.postMessage(message);
}

declare global {
  interface Window {
    /**
     * Absent if the browser does not support it. Its URLs are objects, while the type of SharedWorker accepts only
     * strings.
     */
    readonly trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(): string },
      ): { createScriptURL(input: string): string };
    };
  }
}

/** The page's policy allows one script URL, that of the worker, whatever the input. */
const policy = window.trustedTypes?.createPolicy("reeve-worker", { createScriptURL: () => workerAddress });

/**
 * Connects a tab to the hub of its user: in a SharedWorker; else in the tab that holds a lock, over a channel; else in
 * this tab. `reader` separates the hubs of two keys.
 */
export function connectToHub(reader: string, on: LineHandlers): HubLine {
  const name = `reeve live ${reader}`;
  if ("SharedWorker" in window) return connectToWorker(name, on);
  // Locks are there only where the address is safe.
  if ("locks" in navigator && "BroadcastChannel" in window) return connectToTab(name, on);
  return connectHere(on);
}

function connectToWorker(name: string, { onMessage, onBegin }: LineHandlers): HubLine {
  const { port } = new SharedWorker(policy?.createScriptURL("") ?? workerAddress, { name, type: "module" });
  port.addEventListener("message", ({ data }: MessageEvent<LiveMessage>) => onMessage(data));
  port.start();
  onBegin();
  return { send: (message) => port.postMessage(message), close: () => port.close() };
}

/** Messages on the channel between tabs. */
type ChannelMessage =
  | { readonly from: string; readonly message: TabMessage }
  | { readonly to: string; readonly message: LiveMessage }
  | { readonly isNew: true };

function connectToTab(name: string, { onMessage, onBegin }: LineHandlers): HubLine {
  const own = crypto.randomUUID();
  const channel = new BroadcastChannel(name);
  const stop = new AbortController();
  channel.addEventListener("message", ({ data }: MessageEvent<ChannelMessage>) => {
    if ("isNew" in data) onBegin();
    else if ("to" in data && data.to === own) onMessage(data.message);
  });
  navigator.locks
    .request(name, { signal: stop.signal }, () => serveTabs(name, stop.signal))
    .catch(() => undefined);
  onBegin();
  return {
    send: (message) => sendOn(channel, { from: own, message }),
    close: () => {
      stop.abort();
      channel.close();
    },
  };
}

/** Serves all tabs from this one, until it is closed. */
async function serveTabs(name: string, signal: AbortSignal): Promise<void> {
  const channel = new BroadcastChannel(name);
  const hub = new LiveHub();
  channel.addEventListener("message", ({ data }: MessageEvent<ChannelMessage>) => {
    if ("from" in data)
      hub.take(data.from, data.message, (message) => sendOn(channel, { to: data.from, message }));
  });
  sendOn(channel, { isNew: true });
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  hub.close();
  channel.close();
}

function connectHere({ onMessage, onBegin }: LineHandlers): HubLine {
  const hub = new LiveHub();
  queueMicrotask(onBegin);
  return { send: (message) => hub.take(hub, message, onMessage), close: () => hub.close() };
}
