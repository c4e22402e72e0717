import { decodeError, Json, type NumberedEvent, type Operation, type ExecutionPrimitives } from "#kernel";
import {
  newsProtocol,
  withProtocol,
  type ArgumentOf,
  type FromRun,
  type ReplyOf,
  type RunMethod,
  type RunReply,
} from "#tree";
import { Outbox } from "./outbox.ts";

/** The calls of one execution on its tree. */
export class TreeCalls {
  readonly outbox = new Outbox();
  readonly #primitives: ExecutionPrimitives;
  readonly #onEvents: (events: readonly NumberedEvent[]) => void;
  readonly #cursor: () => number;

  /** `cursor`: how many items of its inbox the run has. */
  constructor(
    primitives: ExecutionPrimitives,
    onEvents: (events: readonly NumberedEvent[]) => void,
    cursor: () => number,
  ) {
    this.#primitives = primitives;
    this.#onEvents = onEvents;
    this.#cursor = cursor;
  }

  /** Issues a call. */
  issue(method: string, argument: unknown): Operation {
    const { launch } = this.#primitives;
    return this.#primitives.call(launch.tree, method, withProtocol(argument, launch));
  }

  /** Prepares a call that carries all unsent reports when it is issued. */
  reporting<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): ReportingCall<Method> {
    return new ReportingCall(this, (at) => {
      const { runId: run, continuation, protocol } = this.#primitives.launch;
      // An engine compares arguments on replay: runs of earlier protocols have none.
      const has = protocol >= newsProtocol ? { cursor: this.#cursor() } : {};
      const from: FromRun = { run, continuation, reports: this.outbox.unsent, ...has, at };
      return this.issue(method, { ...argument, ...from });
    });
  }

  /** Unpacks the tree's reply to a run. Publishes its events, unless an earlier execution had them. */
  unpack<Method extends RunMethod>(answer: Json, isFirst: boolean): ReplyOf<Method> {
    const { reply, events } = Json.as<RunReply<ReplyOf<Method>>>(answer);
    if (events && isFirst) this.#onEvents(events);
    return reply;
  }
}

/** One call with reports. */
class ReportingCall<Method extends RunMethod> {
  readonly #calls: TreeCalls;
  readonly #issue: (at: number) => Operation;
  #operation: Operation | null = null;
  #lastReport = 0;

  constructor(calls: TreeCalls, issue: (at: number) => Operation) {
    this.#calls = calls;
    this.#issue = issue;
  }

  issue(at: number): Operation {
    this.#lastReport = this.#calls.outbox.unsent.at(-1)?.number ?? 0;
    return (this.#operation = this.#issue(at));
  }

  /** Returns the reply, once the operation has ended. @throws the error that it ended with. */
  finish(): ReplyOf<Method> {
    const { outcome, isFirst } = this.#operation ?? { outcome: null, isFirst: false };
    this.#calls.outbox.acknowledge(this.#lastReport);
    if (!outcome?.ok) throw decodeError(outcome?.error ?? { code: "not-found" });
    return this.#calls.unpack<Method>(outcome.value, isFirst);
  }
}
