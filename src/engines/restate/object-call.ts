import {
  type ObjectContext as RestateObjectContext,
  type ObjectSharedContext as RestateSharedContext,
  InvocationIdParser,
  TerminalError,
} from "@restatedev/restate-sdk";
import {
  Json,
  type ObjectAddress,
  type ObjectContext,
  type ObjectMethod,
  type RunLaunch,
  decodeError,
} from "#kernel";
import { BusinessError } from "./business-error.ts";
import { jsonSerde } from "./json-serde.ts";
import { type ServiceNames, runHandler } from "./service-names.ts";

/** Thrown out of a method that needs something which has to be fetched first. */
class Fetch {
  readonly run: () => Promise<void>;

  constructor(run: () => Promise<void>) {
    this.run = run;
  }
}

/** What a method has asked another service for, and what came of it: the same in every try. */
type Asked = { readonly value: Json } | { readonly error: unknown };

/**
 * One call of a method or query. The method is plain synchronous code; where it asks for something that is not here
 * yet it is left, and tried again from its beginning once that has been fetched. Only the try that returns counts.
 */
export class ObjectCall {
  readonly #restate: RestateSharedContext;
  /** Null in a query, which may not change anything. */
  readonly #writer: RestateObjectContext | null;
  readonly #names: ServiceNames;
  readonly #state = new Map<string, Json>();
  readonly #asked: Asked[] = [];

  private constructor(
    restate: RestateSharedContext,
    writer: RestateObjectContext | null,
    names: ServiceNames,
  ) {
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

  /** Returns what the method returns, and the names it has set or cleared. @throws what the method throws. */
  async execute(
    method: ObjectMethod,
    argument: Json,
  ): Promise<{ readonly result: Json; readonly changed: ReadonlySet<string> }> {
    for (;;) {
      const work = new Try(this, this.#writer !== null);
      try {
        const result = method(work, argument);
        return { result, changed: this.#write(work) };
      } catch (error) {
        if (!(error instanceof Fetch)) throw error;
        await error.run();
      }
    }
  }

  get key(): string {
    return this.#restate.key;
  }

  get names(): ServiceNames {
    return this.#names;
  }

  /** A part of the state. @throws Fetch */
  read(name: string): Json {
    this.fetch([name]);
    return this.#state.get(name) ?? null;
  }

  /** @throws Fetch where any of these is not here. */
  fetch(names: readonly string[]): void {
    const missing = names.filter((name) => !this.#state.has(name));
    if (missing.length === 0) return;
    throw new Fetch(async () => {
      // Asked for together, and awaited in that order: so every try is replayed alike.
      const reads = missing.map((name) => this.#restate.get<Json>(name, jsonSerde));
      for (const [index, read] of reads.entries()) this.#state.set(missing[index] ?? "", await read);
    });
  }

  /** The answer to the `place`-th thing this call asks of others. @throws Fetch */
  ask(place: number, request: (restate: RestateSharedContext) => Promise<Json>): Json {
    const asked = this.#asked[place];
    if (!asked)
      throw new Fetch(async () => {
        this.#asked[place] = await request(this.#restate).then(
          (value) => ({ value }),
          // What is not terminal is Restate's to retry.
          (error: unknown) => {
            if (!(error instanceof TerminalError)) throw error;
            return { error: decodeError(BusinessError.data(error.message)) };
          },
        );
      });
    if ("error" in asked) throw asked.error;
    return asked.value;
  }

  /** Hands what a try has changed to Restate, which would keep what was set before a throw. */
  #write({ written, effects }: Try): ReadonlySet<string> {
    const writer = this.#writer;
    if (writer === null) return new Set();
    for (const [name, value] of written) {
      if (value === null) writer.clear(name);
      else writer.set(name, value, jsonSerde);
    }
    for (const effect of effects) effect(writer);
    return new Set(written.keys());
  }
}

/** One try: what it reads sees what it wrote. */
class Try implements ObjectContext {
  readonly key: string;
  readonly written = new Map<string, Json>();
  readonly effects: ((writer: RestateObjectContext) => void)[] = [];
  readonly #call: ObjectCall;
  readonly #mayWrite: boolean;
  #asks = 0;

  constructor(call: ObjectCall, mayWrite: boolean) {
    this.key = call.key;
    this.#call = call;
    this.#mayWrite = mayWrite;
  }

  get(name: string): Json {
    const written = this.written.get(name);
    return written === undefined ? this.#call.read(name) : written;
  }

  expect(names: readonly string[]): void {
    this.#call.fetch(names);
  }

  set(name: string, value: Json): void {
    this.#change();
    this.written.set(name, value);
  }

  clear(name: string): void {
    this.set(name, null);
  }

  send(to: ObjectAddress, method: string, argument: Json, options: { readonly delayMs?: number } = {}): void {
    this.#effect((writer) =>
      writer.genericSend({
        service: this.#call.names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: jsonSerde,
        delay: Math.max(0, Math.ceil(options.delayMs ?? 0)),
      }),
    );
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#call.ask(this.#asks++, async (restate) =>
      restate.genericCall<Json, Json>({
        service: this.#call.names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: jsonSerde,
        outputSerde: jsonSerde,
      }),
    );
  }

  launch(run: RunLaunch): string {
    this.#change();
    const name = this.#call.ask(this.#asks++, async (restate) => {
      const service = this.#call.names.run;
      const parameter = Json.of(run);
      const sent = restate.genericSend({ service, method: runHandler, parameter, inputSerde: jsonSerde });
      return sent.invocationId;
    });
    return Json.as(name);
  }

  wake(execution: string, name: string): void {
    const id = InvocationIdParser.fromString(execution);
    this.#effect((writer) => writer.invocation(id).signal<Json>(name, jsonSerde).resolve());
  }

  cancel(execution: string): void {
    const id = InvocationIdParser.fromString(execution);
    this.#effect((writer) => writer.invocation(id).cancel());
  }

  #effect(effect: (writer: RestateObjectContext) => void): void {
    this.#change();
    this.effects.push(effect);
  }

  #change(): void {
    if (!this.#mayWrite) throw new TypeError("a query may only read");
  }
}
