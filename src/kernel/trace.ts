import type { EventId, RunId, StepId, TreeId } from "./ids.ts";

/** A span of a caller's trace: the content of the W3C header `traceparent`. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether the caller records its own part. */
  readonly sampled: boolean;
}

const header = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads and writes {@link TraceParent}. */
export const TraceParent = {
  /** Parses a header. Null if invalid: the standard requires that it is ignored. */
  parse: (text: string): TraceParent | null => {
    const [, version, traceId, spanId, flags, more] = header.exec(text) ?? [];
    if (!traceId || !spanId || !flags || (version === "00" && more !== undefined)) return null;
    return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
  },
  format: ({ traceId, spanId, sampled }: TraceParent): string =>
    `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`,
} as const;

/** Ids of spans. They are derived from the span's subject, so every reader of the same events computes the same ids. */
export const SpanId = {
  /**
   * Returns the span id of a tree, a run, a step, or an event that begins something. Unique within a trace; not a
   * secret.
   */
  of: (id: TreeId | RunId | StepId | EventId): string => {
    let [high, low] = [0xdeadbeef, 0x41c6ce57];
    for (let index = 0; index < id.length; index++) {
      const code = id.charCodeAt(index);
      high = Math.imul(high ^ code, 0x9e3779b1);
      low = Math.imul(low ^ code, 0x5f356495);
    }
    high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
    low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
    const digits = hex(high) + hex(low);
    return /[^0]/.test(digits) ? digits : "0000000000000001";
  },
} as const;

const hex = (number: number): string => (number >>> 0).toString(16).padStart(8, "0");
