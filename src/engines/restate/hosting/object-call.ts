// One call of an object's method, on Restate.
//
// Job: run a synchronous method over state that must be fetched asynchronously, and hand its writes and messages to
// Restate. Neighbours: object-host opens the argument and calls this; state-values holds the fetched state; state-seals and
// call-seals seal everything that leaves; launches sends the runs that a method starts.
//
// Invariants:
// 1. A method that needs a missing value is left by a throw, and starts over once the value is fetched. Only the try
//    that returns takes effect.
// 2. Time, state and replies are fetched once per call, so every try sees the same.
// 3. All requests to Restate are made in the same order on every replay.
// 4. Nothing is written before the method has returned and all sizes are checked, because Restate keeps writes before a
//    throw.

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
  type ObjectDefinition,
  type ObjectMethod,
  RetryableError,
  type RunLaunch,
  type SendOptions,
  TooLargeError,
  type Seal,
} from "#kernel";
import { BusinessError } from "../client/business-error.ts";
import type { CallSeals } from "../sealing/call-seals.ts";
import { maxValueBytes, sealedSerde, findTooLarge, tooLargeForState } from "../sealing/sealed-serde.ts";
import { prepareWake, type Effect, type Message } from "./object-effects.ts";
import { type Launch, sealLaunch, sendLaunches } from "./launches.ts";
import { sealCall } from "../sealing/sealed-call.ts";
import { StateSeals } from "../sealing/state-seals.ts";
import { StateValues } from "./state-values.ts";
import type { ServiceNames } from "../service-names.ts";

/** Thrown out of a method that needs a value that must be fetched first. */
class Fetch {
  readonly run: () => Promise<void>;

  constructor(run: () => Promise<void>) {
    this.run = run;
  }
}

/** A recorded reply of another service to a method: the same in every try. */
type CallOutcome = { readonly value: Json } | { readonly error: unknown };

/** A request in flight, and the seal that opens its error. */
interface PendingCall {
  readonly answer: () => Promise<Json>;
  readonly reply: Seal;
}

/** The parts of one call. */
export interface ObjectCallFields {
  readonly restate: RestateSharedContext;
  /** Null in a query, which may not change anything. */
  readonly writer: RestateObjectContext | null;
  readonly definition: ObjectDefinition;
  readonly names: ServiceNames;
  readonly seals: CallSeals;
  /** Ends an execution, best effort. */
  readonly kill: (execution: string) => void;
  /** The time at which this worker began to serve. */
  readonly hostedSince: number;
}

/** The time of a call, and the moment since which its worker serves. */
interface CallTime {
  readonly now: number;
  readonly hostedSince: number;
}

/**
 * One call of a method or query. The method is plain synchronous code. If it requests a value that is not loaded yet,
 * it is left by a throw, and tried again from its beginning once the value is fetched. Only the try that returns
 * counts.
 */
export class ObjectCall {
  readonly #restate: RestateSharedContext;
  readonly #writer: RestateObjectContext | null;
  readonly names: ServiceNames;
  readonly kill: ObjectCallFields["kill"];
  readonly #seals: CallSeals;
  readonly #stateSeals: StateSeals;
  readonly #state: StateValues;
  readonly #readStored = (name: string, serde: Serde<Json>): Promise<Json> =>
    this.#restate.get<Json>(name, serde);
  readonly #asked: CallOutcome[] = [];
  readonly #hostedSince: number;
  #time: CallTime | null = null;
  #names: readonly string[] | null = null;

  constructor(fields: ObjectCallFields) {
    this.#restate = fields.restate;
    this.#writer = fields.writer;
    this.names = fields.names;
    this.kill = fields.kill;
    this.#seals = fields.seals;
    this.#hostedSince = fields.hostedSince;
    this.#stateSeals = new StateSeals(fields.definition, fields.restate.key, fields.seals.own);
    this.#state = new StateValues(fields.definition, this.#stateSeals);
  }

  /**
   * Executes a method. Returns its value, and the names it has set or cleared. @throws TerminalError with the method's
   * error.
   */
  async execute(
    method: ObjectMethod,
    argument: Json,
  ): Promise<{ readonly result: Json; readonly changed: ReadonlySet<string> }> {
    for (;;) {
      const work = new CallAttempt(this, this.#writer !== null);
      const tried = this.#try(method, work, argument);
      if (!(tried instanceof Fetch) && work.launches.length > 0) await this.#launch(work.launches);
      else if (!(tried instanceof Fetch)) {
        await this.#write(work);
        return { result: tried.result, changed: new Set(work.written.keys()) };
      } else await tried.run();
    }
  }

  #try(method: ObjectMethod, work: CallAttempt, argument: Json): { readonly result: Json } | Fetch {
    try {
      return { result: method(work, argument) };
    } catch (error) {
      if (error instanceof Fetch) return error;
      // Its message holds no content. Restate retries the call, and stores the message for operators.
      if (error instanceof RetryableError) throw error;
      throw BusinessError.toTerminal(error, this.#seals.reply);
    }
  }

  get key(): string {
    return this.#restate.key;
  }

  /** Returns a value of the state. @throws Fetch */
  read(name: string): Json {
    this.fetch([name]);
    return this.#state.get(name) ?? null;
  }

  /** The names of the state at the beginning of the call. @throws Fetch */
  get stored(): ReadonlySet<string> {
    if (this.#names === null)
      throw new Fetch(async () => void (this.#names = await this.#restate.stateKeys()));
    this.#fetchStored(this.#state.listMissingToList(this.#names));
    return this.#state.listNames(this.#names);
  }

  /** The time of this call, journaled: the same in every try and on every replay. @throws Fetch */
  get time(): CallTime {
    if (this.#time !== null) return this.#time;
    throw new Fetch(async () => void (this.#time = await this.#readTime()));
  }

  /** One entry of the journal. */
  #readTime(): PromiseLike<CallTime> {
    return this.#restate.run("time", () => ({ now: Date.now(), hostedSince: this.#hostedSince }));
  }

  /** Fetches these names and the time in one round trip. @throws Fetch if any of it is missing. */
  prefetch(names: readonly string[]): void {
    if (this.#time !== null || this.#writer === null) return this.fetch(names);
    throw new Fetch(async () => {
      const time = this.#readTime();
      const missing = this.#state.listMissing(names);
      await this.#state.fetch(this.#readStored, missing, async () => void (this.#time = await time));
    });
  }

  /** Fetches these names. @throws Fetch if any of them is missing. */
  fetch(names: readonly string[]): void {
    this.#fetchStored(this.#state.listMissing(names));
  }

  /** Fetches the values that are stored together with one that is written. @throws Fetch if they are missing. */
  prepareWrite(name: string): void {
    this.#fetchStored(this.#state.listMissingToWrite(name));
  }

  #fetchStored(missing: readonly string[]): void {
    if (missing.length > 0) throw new Fetch(() => this.#state.fetch(this.#readStored, missing));
  }

  /** Returns the reply to the `place`-th request of this call. @throws Fetch */
  ask(
    place: number,
    partition: string,
    request: (restate: RestateSharedContext, seal: Seal) => PendingCall,
  ): Json {
    const asked = this.#asked[place];
    if (!asked)
      throw new Fetch(async () => {
        const seal = await this.#seals.getSeal(partition, `ask/${place}`);
        const { answer, reply } = request(this.#restate, seal);
        this.#asked[place] = await answer().then(
          (value) => ({ value }),
          (error: unknown) => ({
            error: error instanceof TooLargeError ? error : BusinessError.ofCall(error, reply),
          }),
        );
      });
    if ("error" in asked) throw asked.error;
    return asked.value;
  }

  /** Returns the id of the execution if the `place`-th request of this call is a sent launch. Else null. */
  getLaunchId(place: number): Json {
    const asked = this.#asked[place];
    return asked && "value" in asked ? asked.value : null;
  }

  /** Seals a launch. @throws TooLargeError */
  sealLaunch(place: number, run: RunLaunch): Uint8Array {
    return sealLaunch(this.#seals.getOwnSeal(`ask/${place}`), run);
  }

  /** Sends the launches of a try. The next try knows their ids. */
  async #launch(launches: readonly Launch[]): Promise<void> {
    const names = await sendLaunches(this.#restate, this.names.run, launches);
    for (const [index, { place }] of launches.entries()) this.#asked[place] = { value: names[index] ?? "" };
  }

  /** Writes the changes of a try to Restate. Only at the end, because Restate would keep writes before a throw. */
  async #write({ written, effects }: CallAttempt): Promise<void> {
    const writer = this.#writer;
    if (writer === null) return;
    const getSeen = (name: string): Json | undefined =>
      written.has(name) ? written.get(name) : this.#state.get(name);
    const isErased = this.#stateSeals.isErased(getSeen);
    const seals: Seal[] = [];
    for (const [index, { partition }] of effects.entries()) {
      const seal = await this.#seals.getSeal(partition, `send/${index}`);
      seals.push(isErased ? seal.lasting : seal);
    }
    const messages = effects.map(({ prepare }, index) => prepare(seals[index] ?? this.#seals.own));
    const values = this.#state.seal(written, isErased);
    this.#checkSizes(values, messages);
    for (const { name, bytes } of values) {
      if (bytes === null) writer.clear(name);
      else writer.set(name, bytes, plain.binary);
    }
    for (const { apply } of messages) apply(writer);
  }

  /** Checks sizes before anything is written, because Restate keeps writes before a throw. @throws TerminalError */
  #checkSizes(
    values: readonly { readonly name: string; readonly bytes: Uint8Array | null }[],
    messages: readonly Message[],
  ): void {
    for (const { name, bytes } of values) this.#refuse(bytes && tooLargeForState(name, bytes));
    for (const { parameter } of messages) this.#refuse(parameter && findTooLarge(parameter));
  }

  #refuse(error: TooLargeError | null): void {
    if (error) throw BusinessError.toTerminal(error, this.#seals.reply);
  }
}

/** Placeholder for the id of an execution in a try that does not count. */
const notSent = "not sent";

/** One try. Its reads see its own writes. */
class CallAttempt implements ObjectContext {
  readonly key: string;
  readonly maxValueBytes = maxValueBytes;
  readonly keepsReferences = false;
  readonly written = new Map<string, Json>();
  readonly effects: Effect[] = [];
  /** Launches that were not sent yet: this try does not count. */
  readonly launches: Launch[] = [];
  readonly #call: ObjectCall;
  readonly #mayWrite: boolean;
  #asks = 0;

  constructor(call: ObjectCall, mayWrite: boolean) {
    this.key = call.key;
    this.#call = call;
    this.#mayWrite = mayWrite;
  }

  now(): number {
    return this.#call.time.now;
  }

  hostedSince(): number {
    return this.#call.time.hostedSince;
  }

  get(name: string): Json {
    const written = this.written.get(name);
    return written === undefined ? this.#call.read(name) : written;
  }

  prefetch(names: readonly string[]): void {
    this.#call.prefetch(names);
  }

  list(prefix: string): readonly string[] {
    const names = new Set(this.#call.stored);
    for (const [name, value] of this.written) {
      if (value === null) names.delete(name);
      else names.add(name);
    }
    return [...names].filter((name) => name.startsWith(prefix)).toSorted();
  }

  set(name: string, value: Json): void {
    this.#change();
    this.#call.prepareWrite(name);
    this.written.set(name, value);
  }

  clear(name: string): void {
    this.set(name, null);
  }

  send(to: ObjectAddress, method: string, argument: Json, options: SendOptions = {}): void {
    const { delayMs = 0 } = options;
    this.#effect(to.key, (seal) => {
      const { parameter } = sealCall(seal, { to, method, argument });
      const service = this.#call.names.object(to.type);
      const delay = Math.max(0, Math.ceil(delayMs));
      const message = { service, key: to.key, method, parameter, inputSerde: plain.binary, delay };
      return { parameter, apply: (writer) => writer.genericSend(message) };
    });
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#call.ask(this.#asks++, to.key, (restate, seal) => {
      const { parameter, reply } = sealCall(seal, { to, method, argument });
      const answer = async (): Promise<Json> =>
        restate.genericCall<Uint8Array, Json>({
          service: this.#call.names.object(to.type),
          key: to.key,
          method,
          parameter,
          inputSerde: plain.binary,
          outputSerde: sealedSerde(reply),
        });
      return { answer, reply };
    });
  }

  launch(run: RunLaunch): string {
    this.#change();
    if (run.tree.key !== this.key) throw new TypeError("a tree can launch only its own runs");
    const place = this.#asks++;
    const name = this.#call.getLaunchId(place);
    if (name !== null) return Json.as(name);
    this.launches.push({ place, parameter: this.#call.sealLaunch(place, run) });
    return notSent;
  }

  wake(execution: string, name: string, value: Json = null): void {
    this.#effect(this.key, (seal) => prepareWake(seal, { execution, name, value }));
  }

  cancel(execution: string): void {
    this.#signal((writer) => writer.invocation(InvocationIdParser.fromString(execution)).cancel());
  }

  kill(execution: string): void {
    this.#signal(() => this.#call.kill(execution));
  }

  #signal(apply: Message["apply"]): void {
    this.#effect(this.key, () => ({ parameter: null, apply }));
  }

  #effect(partition: string, prepare: Effect["prepare"]): void {
    this.#change();
    this.effects.push({ partition, prepare });
  }

  #change(): void {
    if (!this.#mayWrite) throw new TypeError("a query may only read");
  }
}
