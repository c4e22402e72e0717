import { setImmediate as drained } from "node:timers/promises";
import {
  type ObjectContext as RestateObjectContext,
  type ObjectSharedContext as RestateSharedContext,
  InvocationIdParser,
  TerminalError,
} from "@restatedev/restate-sdk";
import { Json, type ObjectAddress, type ObjectContext, type RunLaunch, decodeError } from "#kernel";
import { BusinessError } from "./business-error.ts";
import { jsonSerde } from "./json-serde.ts";
import { type ServiceNames, runHandler } from "./service-names.ts";

/**
 * One call of a method or query. What it changes is held back until the method has returned (Restate would keep what
 * was set before a throw); what it reads sees what it wrote.
 *
 * Engine promises are awaited one at a time, in the order they were asked for, and between two of them everything
 * that can run, runs: so a method may use `Promise.all` and still replays to the same journal.
 */
export class ObjectCall implements ObjectContext {
  readonly key: string;
  readonly #restate: RestateSharedContext;
  /** Null in a query, which may not change anything. */
  readonly #writer: RestateObjectContext | null;
  readonly #names: ServiceNames;
  readonly #reads = new Map<string, Promise<Json>>();
  readonly #writes = new Map<string, Json>();
  readonly #cleared = new Set<string>();
  readonly #effects: ((writer: RestateObjectContext) => void)[] = [];
  #turn: Promise<void> | null = null;

  private constructor(
    restate: RestateSharedContext,
    writer: RestateObjectContext | null,
    names: ServiceNames,
  ) {
    this.key = restate.key;
    this.#restate = restate;
    this.#writer = writer;
    this.#names = names;
  }

  static ofMethod(restate: RestateObjectContext, names: ServiceNames): ObjectCall {
    return new ObjectCall(restate, restate, names);
  }

  static ofQuery(restate: RestateSharedContext, names: ServiceNames): ObjectCall {
    return new ObjectCall(restate, null, names);
  }

  async get(name: string): Promise<Json> {
    const written = this.#writes.get(name);
    if (written !== undefined) return written;
    if (this.#cleared.has(name)) return null;
    const known = this.#reads.get(name);
    if (known) return known;
    const read = this.#inTurn(this.#restate.get<Json>(name, jsonSerde));
    this.#reads.set(name, read);
    return read;
  }

  set(name: string, value: Json): void {
    this.#change();
    this.#cleared.delete(name);
    this.#writes.set(name, value);
  }

  clear(name: string): void {
    this.#change();
    this.#writes.delete(name);
    this.#cleared.add(name);
  }

  send(to: ObjectAddress, method: string, argument: Json, options: { readonly delayMs?: number } = {}): void {
    this.#change();
    this.#effects.push((writer) => {
      writer.genericSend({
        service: this.#names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: jsonSerde,
        delay: Math.max(0, Math.ceil(options.delayMs ?? 0)),
      });
    });
  }

  async call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    try {
      return await this.#inTurn(
        this.#restate.genericCall<Json, Json>({
          service: this.#names.object(to.type),
          key: to.key,
          method,
          parameter: argument,
          inputSerde: jsonSerde,
          outputSerde: jsonSerde,
        }),
      );
    } catch (error) {
      throw error instanceof TerminalError ? decodeError(BusinessError.data(error.message)) : error;
    }
  }

  async launch(run: RunLaunch): Promise<string> {
    const { invocationId } = this.#change().genericSend({
      service: this.#names.run,
      method: runHandler,
      parameter: Json.of(run),
      inputSerde: jsonSerde,
    });
    return this.#inTurn(invocationId);
  }

  wake(execution: string, name: string): void {
    this.#change();
    const id = InvocationIdParser.fromString(execution);
    this.#effects.push((writer) => writer.invocation(id).signal<Json>(name, jsonSerde).resolve());
  }

  cancel(execution: string): void {
    this.#change();
    const id = InvocationIdParser.fromString(execution);
    this.#effects.push((writer) => writer.invocation(id).cancel());
  }

  /** The names it has set or cleared. */
  get changed(): ReadonlySet<string> {
    return new Set([...this.#writes.keys(), ...this.#cleared]);
  }

  /** Hands everything that was held back to Restate. */
  flush(): void {
    const writer = this.#writer;
    if (writer === null) return;
    for (const name of this.#cleared) writer.clear(name);
    for (const [name, value] of this.#writes) writer.set(name, value, jsonSerde);
    for (const effect of this.#effects) effect(writer);
  }

  #change(): RestateObjectContext {
    if (this.#writer === null) throw new TypeError("a query may only read");
    return this.#writer;
  }

  async #inTurn<T>(engine: PromiseLike<T>): Promise<T> {
    const previous = this.#turn;
    const { promise: mine, resolve: pass } = Promise.withResolvers<void>();
    this.#turn = mine;
    if (previous !== null) {
      await previous;
      await drained();
    }
    try {
      return await engine;
    } finally {
      if (this.#turn === mine) this.#turn = null;
      pass();
    }
  }
}
