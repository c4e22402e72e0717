import {
  type Attributes,
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { genAi } from "./conventions.ts";

/** A time in the form that is never mistaken for one since the process began, as plain numbers before that are. */
export const hrTime = (at: number): HrTime => [Math.floor(at / 1000), Math.round((at % 1000) * 1e6)];

/** A span that has begun. */
export class OpenSpan {
  readonly #span: Span;
  readonly #beganAt: number;

  constructor(span: Span, beganAt: number) {
    this.#span = span;
    this.#beganAt = beganAt;
  }

  /** The context for child spans. */
  get context(): Context {
    return trace.setSpan(ROOT_CONTEXT, this.#span);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  note(name: string, attributes: Attributes, at: number): void {
    this.#span.addEvent(name, attributes, hrTime(at));
  }

  fail(type: string, message?: string): void {
    this.#span.setAttribute(genAi.errorType, type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  }

  /** Events are stamped by several clocks: it never ends before it began. */
  end(at: number): void {
    this.#span.end(hrTime(Math.max(at, this.#beganAt)));
  }
}
