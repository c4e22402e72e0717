import { LiveHub } from "./live-hub.ts";
import type { LiveMessage, TabMessage } from "./messages.ts";

/** The SharedWorker of all tabs. */
const hub = new LiveHub();

addEventListener("connect", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (!port) return;
  const post = (message: LiveMessage): void => port.postMessage(message);
  port.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => hub.take(port, data, post));
  port.start();
});
