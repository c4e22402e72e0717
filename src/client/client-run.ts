import {
  Json,
  type CancelReceipt,
  type JsonObject,
  type NumberedEvent,
  type Page,
  type PageRequest,
  type RunId,
  type SentResult,
  type RunStatus,
  type TreeId,
} from "#kernel";
import type { StepPrompt, StepSummary, TopUpAmounts } from "#runtime";
import { ClientError } from "./client-error.ts";
import type { Http } from "./http.ts";
import { SentInput } from "./sent-input.ts";

/** The answer to a start. */
export interface StartedRun {
  readonly treeId: TreeId;
  readonly runId: RunId;
}

/** A step of a run in a list. Its manifest has no hashes, and errors have their code only. */
export type SentStep = Omit<StepSummary, "manifest"> & { readonly manifest: JsonObject | null };

/** The options of an event stream. */
export interface EventOptions {
  /** Number of the last event the caller has. Default: 0, all events. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds the server may be unreachable before the stream fails. Default: 60,000. */
  readonly reconnectTimeoutMs?: number;
}

const maxDelayMs = 2_000;

/** One run, over HTTP. `Output`: the output type of its agent. */
export class ClientRun<Output = Json> {
  readonly id: string;
  readonly #http: Http;

  constructor(http: Http, id: string) {
    this.#http = http;
    this.id = id;
  }

  async status(): Promise<RunStatus> {
    return Json.as<{ readonly status: RunStatus }>(
      await this.#http.get(`/runs/${encodeURIComponent(this.id)}`),
    ).status;
  }

  /** Returns the result. Null while the run is live. */
  async resultNow(): Promise<SentResult<Output> | null> {
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(this.id)}/result`));
  }

  /** Waits for the end of the tree, then returns the result of the run. */
  async result(options: Omit<EventOptions, "after"> = {}): Promise<SentResult<Output>> {
    let after = 0;
    for (;;) {
      const result = await this.resultNow();
      if (result) return result;
      for await (const { seq } of this.events({ ...options, after })) after = seq;
    }
  }

  /**
   * Every event of the tree, once, in order, until the tree is over. A lost connection is opened again behind the last
   * event. @throws ClientError, the signal's reason
   */
  async *events({
    after = 0,
    signal = new AbortController().signal,
    reconnectTimeoutMs = 60_000,
  }: EventOptions = {}): AsyncGenerator<NumberedEvent, void> {
    let last = after;
    let lostAt: number | null = null;
    for (let failures = 0; ; failures++) {
      try {
        for await (const sent of this.#http.stream(this.id, { after: last, deltas: false, signal })) {
          if (sent.event === "end") return;
          if (sent.event !== "message") continue;
          const event = Json.as<NumberedEvent>(Json.of(JSON.parse(sent.data)));
          if (event.seq <= last) continue;
          last = event.seq;
          lostAt = null;
          failures = 0;
          yield event;
        }
      } catch (error) {
        const isFinal = error instanceof ClientError && !error.retryable;
        if (signal.aborted || isFinal) throw error;
        lostAt ??= Date.now();
        if (Date.now() - lostAt > reconnectTimeoutMs) throw error;
      }
      await delay(Math.min(maxDelayMs, 100 * 2 ** failures), signal);
    }
  }

  /** The model and tool steps of the run, oldest first, without content. */
  async steps(page: Partial<PageRequest> = {}): Promise<Page<SentStep>> {
    const { size = 50, after } = page;
    const query = new URLSearchParams({ size: String(size), ...(after !== undefined && { after }) });
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(this.id)}/steps?${String(query)}`));
  }

  /** Reads the prompt and the answer of a step. The key needs the scope `content`. */
  async prompt(step: string): Promise<StepPrompt> {
    const path = `/runs/${encodeURIComponent(this.id)}/steps/${encodeURIComponent(step)}`;
    return Json.as(await this.#http.get(path));
  }

  /** Keeps the recorded content of the tree for good. Returns the number of steps that would have been erased. */
  async keep(): Promise<number> {
    return Json.as<{ readonly kept: number }>(await this.#http.act(this.id, "keep", {})).kept;
  }

  /** Stops the run and everything below it; resolves when all have ended. */
  async cancel(reason = "user"): Promise<CancelReceipt> {
    return Json.as(await this.#http.act(this.id, "cancel", { reason }));
  }

  /** Sends a text for the current work. It reaches the agent before its next model call. */
  async steer(input: SentInput): Promise<void> {
    await this.#http.act(this.id, "steer", { ...SentInput.fields(input), id: crypto.randomUUID() });
  }

  /** A text for afterwards: it reaches the agent when it would stop. */
  async followUp(input: SentInput): Promise<void> {
    await this.#http.act(this.id, "follow-up", { ...SentInput.fields(input), id: crypto.randomUUID() });
  }

  /** Wakes a `ctx.waitFor(name)`. */
  async signal(name: string, data: Json = null): Promise<void> {
    await this.#http.act(this.id, "signal", { name, data, id: crypto.randomUUID() });
  }

  async pause(): Promise<void> {
    await this.#http.act(this.id, "pause", { id: crypto.randomUUID() });
  }

  async resume(): Promise<void> {
    await this.#http.act(this.id, "resume", { id: crypto.randomUUID() });
  }

  async topUp(amounts: TopUpAmounts): Promise<void> {
    await this.#http.act(this.id, "top-up", { ...amounts, id: crypto.randomUUID() });
  }
}

/** Waits. @throws the signal's reason */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
