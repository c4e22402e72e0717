import { isDeepStrictEqual } from "node:util";
import { Json, type ObjectAddress, type ObjectContext, type RunLaunch, type SendOptions } from "#kernel";

/**
 * One call of a method, tried until it returns. Only the try that returns counts. Calls to other objects are made once
 * and remembered: the next try must make the same calls in the same order.
 */
export class Try implements ObjectContext {
  readonly key: string;
  readonly #object: ObjectContext;
  readonly #asked: { readonly what: readonly unknown[]; readonly reply: unknown }[] = [];
  readonly #written = new Map<string, Json>();
  #effects: (() => void)[] = [];
  #position = 0;

  constructor(object: ObjectContext) {
    this.key = object.key;
    this.#object = object;
  }

  restart(): void {
    this.#written.clear();
    this.#effects = [];
    this.#position = 0;
  }

  /** Applies the effects of the try. */
  commit(): void {
    for (const [name, value] of this.#written) this.#object.set(name, value);
    for (const effect of this.#effects) effect();
  }

  now(): number {
    return this.#object.now();
  }

  hostedSince(): number {
    return this.#object.hostedSince();
  }

  get(name: string): Json {
    const written = this.#written.get(name);
    return written === undefined ? this.#object.get(name) : written;
  }

  get maxValueBytes(): number {
    return this.#object.maxValueBytes;
  }

  get keepsReferences(): boolean {
    return this.#object.keepsReferences;
  }

  prefetch(names: readonly string[]): void {
    this.#object.prefetch(names);
  }

  list(prefix: string): readonly string[] {
    const names = new Set(this.#object.list(prefix));
    for (const [name, value] of this.#written) {
      if (value === null) names.delete(name);
      else if (name.startsWith(prefix)) names.add(name);
    }
    return [...names].toSorted();
  }

  set(name: string, value: Json): void {
    this.#written.set(name, value);
  }

  clear(name: string): void {
    this.#written.set(name, null);
  }

  send(to: ObjectAddress, method: string, argument: Json, options?: SendOptions): void {
    this.#effects.push(() => this.#object.send(to, method, argument, options));
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return Json.of(
      this.#askOnce(["call", to, method, argument], () => this.#object.call(to, method, argument)),
    );
  }

  launch(run: RunLaunch): string {
    const { tree, runId, continuation } = run;
    const execution = this.#askOnce(["launch", tree, runId, continuation], () => this.#object.launch(run));
    return typeof execution === "string" ? execution : "";
  }

  wake(execution: string, name: string, value?: Json): void {
    this.#effects.push(() => this.#object.wake(execution, name, value));
  }

  cancel(execution: string): void {
    this.#effects.push(() => this.#object.cancel(execution));
  }

  kill(execution: string): void {
    this.#effects.push(() => this.#object.kill(execution));
  }

  #askOnce(what: readonly unknown[], ask: () => unknown): unknown {
    const known = this.#asked[this.#position++];
    if (!known) {
      const reply = ask();
      this.#asked.push({ what, reply });
      return reply;
    }
    if (!isDeepStrictEqual(known.what, what)) throw new Error(`tried again, it asks ${JSON.stringify(what)}`);
    return known.reply;
  }
}
