import type { Micros, NumberedEvent, RunId } from "#kernel";
import type { Caps } from "../views/tree-lines.ts";
import type { ReeveClient } from "./reeve-client.ts";

/** A source of the limits of runs. */
export interface CapSource {
  readonly caps: Caps;
  /** Receives every event. */
  see(event: NumberedEvent): void;
}

/** Reads the limits of runs as they appear, one request at a time, without blocking the caller. */
export class CapReader implements CapSource {
  readonly #client: ReeveClient;
  readonly #runs = new Map<RunId, Micros>();
  readonly #asked: RunId[] = [];
  #tree: Micros | null = null;
  #reading = false;

  constructor(client: ReeveClient) {
    this.#client = client;
  }

  get caps(): Caps {
    return { tree: this.#tree, runs: this.#runs };
  }

  /** Requests the limits of runs that start or are topped up. */
  see({ type, runId }: NumberedEvent): void {
    if (type !== "run.start" && type !== "budget.topped-up") return;
    this.#asked.push(runId);
    if (!this.#reading) void this.#read();
  }

  /** Reads the limits of one run now. */
  async ask(run: RunId): Promise<void> {
    const { tree, run: own } = await this.#client.ledger(run);
    this.#tree = tree.maxCostMicros;
    if (own?.maxCostMicros != null) this.#runs.set(run, own.maxCostMicros);
  }

  async #read(): Promise<void> {
    this.#reading = true;
    // A limit that could not be read is not drawn; everything else goes on.
    for (let run = this.#asked.shift(); run; run = this.#asked.shift())
      await this.ask(run).catch(() => undefined);
    this.#reading = false;
  }
}
