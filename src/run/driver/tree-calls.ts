import { decodeError, Json, type NumberedEvent, type Operation, type ExecutionPrimitives } from "#kernel";
import {
  methodOf,
  protocolNumber,
  upgradeBatch,
  upgradeReply,
  withProtocol,
  type ArgumentOf,
  type FromRun,
  type InboxBatch,
  type ReplyOf,
  type RunMethod,
  type RunReply,
  type UnreadItems,
} from "#tree";
import { Outbox } from "./outbox.ts";

/** The state of a run's inbox, as far as the run knows it. */
export interface InboxState {
  /** Returns how many items it has. */
  readonly cursor: () => number;
  /** Returns those that its code has not read. */
  readonly backlog: () => UnreadItems | undefined;
}

/** The calls of one execution on its tree. */
export class TreeCalls {
  readonly outbox = new Outbox();
  readonly #primitives: ExecutionPrimitives;
  readonly #onEvents: (events: readonly NumberedEvent[]) => void;
  readonly #inbox: InboxState;

  constructor(
    primitives: ExecutionPrimitives,
    onEvents: (events: readonly NumberedEvent[]) => void,
    inbox: InboxState,
  ) {
    this.#primitives = primitives;
    this.#onEvents = onEvents;
    this.#inbox = inbox;
  }

  /** Issues a call. */
  issue(method: string, argument: unknown): Operation {
    const { launch } = this.#primitives;
    return this.#primitives.call(launch.tree, methodOf(method, launch), withProtocol(argument, launch));
  }

  /** Prepares a call that carries all unsent reports when it is issued. */
  prepareReporting<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): ReportingCall<Method> {
    return new ReportingCall(this, (at) => {
      const { runId: run, continuation } = this.#primitives.launch;
      const backlog = this.#inbox.backlog();
      const cursor = this.#inbox.cursor();
      const from: FromRun = {
        run,
        continuation,
        reports: this.outbox.unsent,
        cursor,
        at,
        ...(backlog && { backlog }),
      };
      return this.issue(method, { ...argument, ...from });
    });
  }

  /** Reads the inbox items that a wake-up has brought. */
  readBatch(value: Json): InboxBatch {
    return Json.as(this.#isPresent ? value : upgradeBatch(value));
  }

  /** Unpacks the tree's reply to a run. Publishes its events, unless an earlier execution had them. */
  unpack<Method extends RunMethod>(answer: Json, isFirst: boolean): ReplyOf<Method> {
    const { reply, events } = Json.as<RunReply<ReplyOf<Method>>>(
      this.#isPresent ? answer : upgradeReply(answer),
    );
    if (events && isFirst) this.#onEvents(events);
    return reply;
  }

  /** Whether the run was launched under the present protocol. */
  get #isPresent(): boolean {
    return this.#primitives.launch.protocol === protocolNumber;
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
