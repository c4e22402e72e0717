import {
  type ObjectContext as RestateObjectContext,
  type ObjectSharedContext as RestateSharedContext,
  InvocationIdParser,
  type Serde,
  serde as plain,
} from "@restatedev/restate-sdk";
import {
  Json,
  type ObjectAddress,
  type ObjectContext,
  type ObjectMethod,
  type RunLaunch,
  type SendOptions,
} from "#kernel";
import type { Seal } from "#sealing";
import { BusinessError } from "./business-error.ts";
import type { CallSeals } from "./call-seals.ts";
import { sealedSerde, stateSerde } from "./sealed-serde.ts";
import { type ServiceNames, partitionHeader, runHandler } from "./service-names.ts";

/** Thrown out of a method that needs something which has to be fetched first. */
class Fetch {
  readonly run: () => Promise<void>;

  constructor(run: () => Promise<void>) {
    this.run = run;
  }
}

/** What a method has asked another service for, and what came of it: the same in every try. */
type Asked = { readonly value: Json } | { readonly error: unknown };

interface Effect {
  /** Whose seal it needs. */
  readonly partition: string;
  readonly apply: (writer: RestateObjectContext, seal: Seal) => void;
}

/**
 * One call of a method or query. The method is plain synchronous code; where it asks for something that is not here
 * yet it is left, and tried again from its beginning once that has been fetched. Only the try that returns counts.
 */
export class ObjectCall {
  readonly #restate: RestateSharedContext;
  /** Null in a query, which may not change anything. */
  readonly #writer: RestateObjectContext | null;
  readonly names: ServiceNames;
  readonly #seals: CallSeals;
  readonly #serde: Serde<Json>;
  readonly #state = new Map<string, Json>();
  readonly #asked: Asked[] = [];

  private constructor(
    restate: RestateSharedContext,
    writer: RestateObjectContext | null,
    names: ServiceNames,
    seals: CallSeals,
  ) {
    this.#restate = restate;
    this.#writer = writer;
    this.names = names;
    this.#seals = seals;
    this.#serde = stateSerde(seals.own);
  }

  static ofMethod(restate: RestateObjectContext, names: ServiceNames, seals: CallSeals): ObjectCall {
    return new ObjectCall(restate, restate, names, seals);
  }

  static ofQuery(restate: RestateSharedContext, names: ServiceNames, seals: CallSeals): ObjectCall {
    return new ObjectCall(restate, null, names, seals);
  }

  /** Returns what the method returns, and the names it has set or cleared. @throws TerminalError what the method throws. */
  async execute(
    method: ObjectMethod,
    argument: Json,
  ): Promise<{ readonly result: Json; readonly changed: ReadonlySet<string> }> {
    for (;;) {
      const work = new Try(this, this.#writer !== null);
      const tried = this.#try(method, work, argument);
      if (!(tried instanceof Fetch)) {
        await this.#write(work);
        return { result: tried.result, changed: new Set(work.written.keys()) };
      }
      await tried.run();
    }
  }

  #try(method: ObjectMethod, work: Try, argument: Json): { readonly result: Json } | Fetch {
    try {
      return { result: method(work, argument) };
    } catch (error) {
      if (error instanceof Fetch) return error;
      throw BusinessError.toTerminal(error, this.#seals.own);
    }
  }

  get key(): string {
    return this.#restate.key;
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
      const reads = missing.map((name) => this.#restate.get<Json>(name, this.#serde));
      for (const [index, read] of reads.entries()) this.#state.set(missing[index] ?? "", await read);
    });
  }

  /** The answer to the `place`-th thing this call asks of others. @throws Fetch */
  ask(
    place: number,
    partition: string,
    request: (restate: RestateSharedContext, serde: Serde<Json>) => Promise<Json>,
  ): Json {
    const asked = this.#asked[place];
    if (!asked)
      throw new Fetch(async () => {
        const seal = await this.#seals.of(partition);
        this.#asked[place] = await request(this.#restate, sealedSerde(seal)).then(
          (value) => ({ value }),
          (error: unknown) => ({ error: BusinessError.ofCall(error, seal) }),
        );
      });
    if ("error" in asked) throw asked.error;
    return asked.value;
  }

  /** Hands what a try has changed to Restate, which would keep what was set before a throw. */
  async #write({ written, effects }: Try): Promise<void> {
    const writer = this.#writer;
    if (writer === null) return;
    const seals: Seal[] = [];
    for (const { partition } of effects) seals.push(await this.#seals.of(partition));
    const lasting = sealedSerde(this.#seals.own.lasting);
    for (const [name, { value, isKept }] of written) {
      if (value === null) writer.clear(name);
      else writer.set(name, value, isKept ? lasting : this.#serde);
    }
    for (const [index, { apply }] of effects.entries()) apply(writer, seals[index] ?? this.#seals.own);
  }
}

interface Written {
  readonly value: Json;
  readonly isKept: boolean;
}

/** One try: what it reads sees what it wrote. */
class Try implements ObjectContext {
  readonly key: string;
  readonly written = new Map<string, Written>();
  readonly effects: Effect[] = [];
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
    return written === undefined ? this.#call.read(name) : written.value;
  }

  expect(names: readonly string[]): void {
    this.#call.fetch(names);
  }

  set(name: string, value: Json): void {
    this.#change();
    this.written.set(name, { value, isKept: false });
  }

  keep(name: string, value: Json): void {
    this.#change();
    this.written.set(name, { value, isKept: true });
  }

  clear(name: string): void {
    this.set(name, null);
  }

  send(to: ObjectAddress, method: string, argument: Json, options: SendOptions = {}): void {
    const { delayMs = 0, keep = false } = options;
    this.#effect(to.key, (writer, seal) =>
      writer.genericSend({
        service: this.#call.names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: sealedSerde(keep ? seal.lasting : seal),
        delay: Math.max(0, Math.ceil(delayMs)),
      }),
    );
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#call.ask(this.#asks++, to.key, async (restate, serde) =>
      restate.genericCall<Json, Json>({
        service: this.#call.names.object(to.type),
        key: to.key,
        method,
        parameter: argument,
        inputSerde: serde,
        outputSerde: serde,
      }),
    );
  }

  launch(run: RunLaunch): string {
    this.#change();
    if (run.tree.key !== this.key) throw new TypeError("a tree launches its own runs only");
    const name = this.#call.ask(this.#asks++, this.key, async (restate, inputSerde) => {
      const { invocationId } = restate.genericSend({
        service: this.#call.names.run,
        method: runHandler,
        parameter: Json.of(run),
        inputSerde,
        headers: { [partitionHeader]: this.key },
      });
      return invocationId;
    });
    return Json.as(name);
  }

  wake(execution: string, name: string): void {
    const id = InvocationIdParser.fromString(execution);
    this.#effect(this.key, (writer) => writer.invocation(id).signal(name, plain.empty).resolve());
  }

  cancel(execution: string): void {
    const id = InvocationIdParser.fromString(execution);
    this.#effect(this.key, (writer) => writer.invocation(id).cancel());
  }

  #effect(partition: string, apply: Effect["apply"]): void {
    this.#change();
    this.effects.push({ partition, apply });
  }

  #change(): void {
    if (!this.#mayWrite) throw new TypeError("a query may only read");
  }
}
