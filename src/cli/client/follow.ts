import { setTimeout as wait } from "node:timers/promises";
import { Json, type NumberedEvent } from "#kernel";
import type { RunDelta } from "#runtime";
import { backoffMs, errorMessage } from "#base";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { ReeveClient } from "./reeve-client.ts";

/** An item of a followed tree: an event, a piece of an answer, or a lost or restored connection. */
export type RunUpdate =
  | { readonly kind: "event"; readonly event: NumberedEvent }
  | { readonly kind: "delta"; readonly delta: RunDelta }
  | { readonly kind: "lost"; readonly why: string }
  | { readonly kind: "found" };

/** Options of `followRun`. */
export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Number of the last event the caller has. Default: none. */
  readonly after?: number;
  /** Pieces of answers, too, as they are given: each once at most, and none that was missed. Default false. */
  readonly deltas?: boolean;
  /** Milliseconds until an unreachable server is given up. Default: 2 minutes. */
  readonly connectTimeoutMs?: number;
}

const reconnect = { firstMs: 100, maxMs: 2_000 };

/**
 * Yields every event of a tree once, in order, until the tree ends. Reconnects as often as needed. A missing event is
 * requested again before any later one is yielded.
 */
export async function* followRun(
  client: ReeveClient,
  run: string,
  { signal, after = 0, deltas = false, connectTimeoutMs = 120_000 }: FollowOptions,
): AsyncGenerator<RunUpdate, void> {
  let seq = after;
  let lostAt: number | null = null;
  let gaps = 0;
  let failures = 0;
  for (;;) {
    try {
      for await (const { event, data } of client.stream(run, { after: seq, deltas, signal })) {
        if (event === "end") return;
        if (event === "open" && lostAt !== null) yield { kind: "found" };
        if (event === "open") lostAt = null;
        if (event === "delta") yield { kind: "delta", delta: Json.as<RunDelta>(Json.of(JSON.parse(data))) };
        if (event !== "message") continue;
        const next = Json.as<NumberedEvent>(Json.of(JSON.parse(data)));
        if (next.seq <= seq) continue;
        if (next.seq !== seq + 1) throw createGapError(seq + 1, (gaps += 1));
        seq = next.seq;
        gaps = 0;
        failures = 0;
        yield { kind: "event", event: next };
      }
      throw new Error("the event stream broke off");
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      const isNew = lostAt === null;
      lostAt ??= Date.now();
      if (Date.now() - lostAt > connectTimeoutMs) throw toGivenUpError(client.url, error);
      if (isNew) yield { kind: "lost", why: errorMessage(error) };
    }
    await wait(backoffMs(failures++, reconnect), undefined, { signal });
  }
}

const mostGaps = 5;

function createGapError(seq: number, gaps: number): Error {
  const words = `event ${seq} is missing from the stream`;
  if (gaps < mostGaps) return new Error(words);
  return new CliError(words, { code: "event-missing", exitCode: ExitCode.refused });
}

/** Asking again would not help. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof CliError &&
    error.exitCode !== ExitCode.unreachable &&
    error.exitCode !== ExitCode.failure
  );
}

function toGivenUpError(url: string, cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  return new CliError(`no answer from the server at ${url}`, {
    code: "unreachable",
    exitCode: ExitCode.unreachable,
  });
}
