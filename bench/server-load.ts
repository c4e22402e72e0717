import { once } from "node:events";
import { Agent as Sockets, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { atPercent, median } from "./restate/measure.ts";

/** The offered load. */
export interface Offer {
  readonly url: string;
  readonly key: string;
  readonly seconds: number;
  readonly perSecond: number;
  /** Minimum number of open streams. */
  readonly subscribers: number;
}

/**
 * Limit of requests in flight: due requests beyond it are counted, not sent, so the load program itself stays cheap.
 */
const mostUnderWay = 256;
/** Streams that may be open. A tree beyond that is not watched, only looked up when all is over. */
const mostStreams = 1_000;
/** Seconds within which everything started must end. */
const endS = 180;

/** Offers trees at a constant rate, independent of their results, and watches the accepted ones. */
export class ServerLoad {
  readonly #offer: Offer;
  readonly #headers: Readonly<Record<string, string>>;
  /** None is used again that the server may be about to close. */
  readonly #sockets = new Sockets({ keepAlive: true, maxSockets: mostUnderWay, timeout: 2_000 });
  readonly #tookMs = new Map<number, number[]>();
  readonly #lagMs: number[] = [];
  readonly #accepted = new Set<string>();
  readonly #watches = new Set<Promise<void>>();
  #unsent = 0;
  #underWay = 0;
  #mostOpen = 0;
  #whole = 0;
  #broken = 0;
  #comeAgain = 0;

  constructor(offer: Offer) {
    this.#offer = offer;
    this.#headers = { authorization: `Bearer ${offer.key}`, "content-type": "application/json" };
  }

  /** Resolves when everything that was accepted is over, or had the time to be. */
  async run(): Promise<object> {
    const { seconds, perSecond } = this.#offer;
    const starts: Promise<void>[] = [];
    const began = performance.now();
    for (let n = 0; n < seconds * perSecond; n += 1) {
      const due = began + (n / perSecond) * 1000;
      const earlyMs = due - performance.now();
      if (earlyMs > 0) await delay(earlyMs);
      if (this.#underWay < mostUnderWay) starts.push(this.#start());
      else this.#unsent += 1;
    }
    await Promise.all(starts);
    const startedS = (performance.now() - began) / 1000;
    const unended = await this.#countUnended();
    await Promise.race([Promise.all(this.#watches), delay(10_000)]);
    this.#sockets.destroy();
    return {
      answers: Object.fromEntries([...this.#tookMs].map(([status, took]) => [status, took.length])),
      unsent: this.#unsent,
      acceptedPerSecond: Number((this.#accepted.size / startedS).toFixed(1)),
      acceptedMs: percentiles(this.#tookMs.get(202)),
      refusedMs: percentiles(this.#tookMs.get(429)),
      endedAfterS: Number(((performance.now() - began) / 1000).toFixed(1)),
      acceptedAndNotEnded: unended,
      eventMs: percentiles(this.#lagMs),
      streamsAtMost: this.#mostOpen,
      streams: { whole: this.#whole, broken: this.#broken, unfinished: this.#watches.size },
      streamsToldToComeAgain: this.#comeAgain,
    };
  }

  async #start(): Promise<void> {
    this.#underWay += 1;
    const began = performance.now();
    const { status, text } = await this.#ask("POST", "/runs", { agent: "writer", input: "work" });
    this.#underWay -= 1;
    const took = this.#tookMs.get(status) ?? [];
    this.#tookMs.set(status, took);
    took.push(performance.now() - began);
    if (status !== 202) return;
    const { treeId } = JSON.parse(text) as { readonly treeId: string };
    this.#accepted.add(treeId);
    const missing = Math.max(1, Math.ceil((this.#offer.subscribers - this.#watches.size) / 15));
    for (let n = 0; n < missing && this.#watches.size < mostStreams; n += 1) this.#watch(treeId);
  }

  #watch(tree: string): void {
    const watching = this.#follow(tree)
      .then((isWhole) => (isWhole ? (this.#whole += 1) : (this.#broken += 1)))
      .then(() => void this.#watches.delete(watching));
    this.#watches.add(watching);
    this.#mostOpen = Math.max(this.#mostOpen, this.#watches.size);
  }

  /** Reads a stream to its end, and how late each event was. Whether it had all of them. */
  async #follow(tree: string): Promise<boolean> {
    const sent = request(`${this.#offer.url}/runs/${tree}/events`, { headers: this.#headers, agent: false });
    sent.end();
    const [response]: IncomingMessage[] = await once(sent, "response");
    if (response?.statusCode === 429) {
      this.#comeAgain += 1;
      response.destroy();
      await delay(Number(response.headers["retry-after"]) * 1000);
      return this.#follow(tree);
    }
    let [text, last, hasEnded] = ["", 0, false];
    for await (const part of response ?? []) {
      const blocks = (text + String(part)).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        hasEnded ||= block.startsWith("event: end");
        const id = /^id: (\d+)$/m.exec(block)?.[1];
        if (id === undefined) continue;
        if (Number(id) !== last + 1) return false;
        last += 1;
        this.#lagMs.push(Date.now() - Number(/"at":(\d+)/.exec(block)?.[1]));
      }
    }
    return response?.statusCode === 200 && hasEnded && last > 5;
  }

  /** Returns how many accepted trees have not ended, according to the list. */
  async #countUnended(): Promise<number> {
    const left = new Set(this.#accepted);
    for (const end = performance.now() + endS * 1000; left.size > 0 && performance.now() < end;) {
      await delay(500);
      for (let after: string | null = ""; after !== null;) {
        const path = `/runs?status=completed&roots=true&size=1000${after && `&after=${after}`}`;
        const { status, text } = await this.#ask("GET", path);
        if (status !== 200) break;
        const { items, next } = JSON.parse(text) as {
          readonly items: readonly { readonly treeId: string }[];
          readonly next: string | null;
        };
        for (const { treeId } of items) left.delete(treeId);
        after = next === null ? null : encodeURIComponent(next);
      }
    }
    return left.size;
  }

  /** Status 0: no answer came. */
  async #ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { url } = this.#offer;
    const sent = request(url + path, { method, headers: this.#headers, agent: this.#sockets });
    sent.end(body && JSON.stringify(body));
    try {
      const [response]: IncomingMessage[] = await once(sent, "response");
      let text = "";
      for await (const part of response ?? []) text += String(part);
      return { status: response?.statusCode ?? 0, text };
    } catch {
      return { status: 0, text: "" };
    }
  }
}

function percentiles(values: readonly number[] = []): object {
  return { p50: Math.round(median(values)), p95: Math.round(atPercent(values, 95)) };
}
