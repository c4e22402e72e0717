import type { Chance } from "./chance.ts";
import type { Execution } from "./execution.ts";
import type { Mishap } from "./fault.ts";
import type { RefusalReply, WireFormat } from "./wire/wire-format.ts";

/** The bytes of a response, and how it ends. */
export interface Reply {
  /** Null: not even a head. */
  readonly head: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | null;
  readonly chunks: readonly string[];
  /** Bytes of the chunks to send. Null: all. */
  readonly limitBytes: number | null;
  /** `finish`: properly. `drop`: the connection closes. `reset`: it breaks. `hang`: silence. */
  readonly ending: "finish" | "drop" | "reset" | "hang";
  readonly pace: { readonly bytes: number; readonly everyMs: number } | null;
}

const whole = { limitBytes: null, ending: "finish", pace: null } as const;

/** Builds the response to an execution, changed by the fault. */
export function planReply(
  format: WireFormat,
  execution: Execution,
  { fault, chance }: { readonly fault: Mishap | null; readonly chance: Chance },
): Reply {
  const { streamed } = execution.request;
  const chunks = streamed ? format.stream(execution) : [JSON.stringify(format.answer(execution))];
  const headers = {
    "content-type": streamed ? "text/event-stream; charset=utf-8" : "application/json",
    "x-request-id": `req_${execution.id}`,
  };
  const reply: Reply = { head: { status: 200, headers }, chunks, ...whole };
  switch (fault?.kind) {
    case "overloaded-stream": {
      const events = Math.min(fault.afterEvents ?? Math.floor(chunks.length / 2), chunks.length);
      return { ...reply, chunks: [...chunks.slice(0, events), ...format.overloadEvents(execution, events)] };
    }
    case "cut":
      return {
        ...reply,
        limitBytes: fault.afterBytes ?? chance.integer(0, Buffer.byteLength(chunks.join("")) - 1),
        ending: fault.ending ?? "drop",
      };
    case "hang":
      return fault.afterBytes === undefined
        ? { ...reply, head: null, ending: "hang" }
        : { ...reply, limitBytes: fault.afterBytes, ending: "hang" };
    case "slow":
      return { ...reply, pace: { bytes: fault.bytes ?? 1, everyMs: fault.everyMs ?? 1_000 } };
    case "executed-then-reset":
      return { ...reply, head: null, ending: "reset" };
    case "malformed-body":
      return { ...reply, chunks: streamed ? breakEvent(chunks) : chunks.map(half) };
    case "malformed-arguments":
    case "missing-usage":
    case "absurd-usage":
    case "content-filter":
    case undefined:
      return reply;
  }
}

/** The reply with one body: a refusal, or embeddings. */
export function wholeReply({ status, contentType, headers, body }: RefusalReply): Reply {
  return { head: { status, headers: { "content-type": contentType, ...headers } }, chunks: [body], ...whole };
}

function half(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}

/** Cuts the data of one event in the middle of a stream. */
function breakEvent(events: readonly string[]): readonly string[] {
  const broken = Math.floor((events.length - 1) / 2);
  return events.map((event, index) =>
    index === broken ? `${event.slice(0, event.lastIndexOf(":"))}\n\n` : event,
  );
}
