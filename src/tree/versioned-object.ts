import {
  isJsonObject,
  StoredValueError,
  type Json,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectMethod,
  type RunLaunch,
  type SendOptions,
} from "#kernel";
import { findStoredProblem } from "./shapes/stored-shapes.ts";
import { downgradeReply, upgradeArgument, upgradeValue, withPreviousNames } from "./previous-protocol.ts";
import { checkProtocol, protocolNumber, withProtocol } from "./protocol-number.ts";

/**
 * Wraps an object so that it checks the protocol number of every call, writes it into every value, and checks it in
 * every value that it reads. Calls and values of the previous number are converted. A value without its shape is
 * refused.
 */
export function versionedObject(definition: ObjectDefinition): ObjectDefinition {
  const { type } = definition;
  const addProtocolCheck = (methods: ObjectDefinition["methods"]): ObjectDefinition["methods"] =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]): readonly [string, ObjectMethod] => [
        name,
        (object, argument) => {
          const { protocol: stated, ...given } = isJsonObject(argument) ? argument : {};
          const protocol = checkProtocol(`a call of ${type}.${name}`, stated);
          const own = new VersionedObject(object, type);
          if (protocol === protocolNumber) return method(own, given);
          return downgradeReply(method(own, upgradeArgument(name, given)));
        },
      ]),
    );
  return {
    ...definition,
    methods: withPreviousNames(type, addProtocolCheck(definition.methods)),
    queries: addProtocolCheck(definition.queries),
  };
}

/** Stored values that were checked. They never change: a method writes new ones. */
const checked = new WeakSet<object>();

/**
 * An object whose stored values are `{ v, value }`. Values that stay in this process are stored unwrapped, because they
 * are of this release.
 */
class VersionedObject implements ObjectContext {
  readonly key: string;
  readonly maxValueBytes: number;
  readonly keepsReferences: boolean;
  readonly #object: ObjectContext;
  readonly #type: string;

  constructor(object: ObjectContext, type: string) {
    this.key = object.key;
    this.maxValueBytes = object.maxValueBytes;
    this.keepsReferences = object.keepsReferences;
    this.#object = object;
    this.#type = type;
  }

  now(): number {
    return this.#object.now();
  }

  hostedSince(): number {
    return this.#object.hostedSince();
  }

  get(name: string): Json {
    const stored = this.#object.get(name);
    if (stored === null || this.keepsReferences) return stored;
    const holder = isJsonObject(stored) ? stored : {};
    const { v, value = null } = holder;
    const written = checkProtocol(this.#what(name), v);
    const upgraded = written === protocolNumber ? value : upgradeValue(this.#type, name, value);
    this.#check(name, upgraded, holder);
    return upgraded;
  }

  /** Checks a value once, for any number of reads. @throws StoredValueError */
  #check(name: string, value: Json, stored: object): void {
    if (checked.has(stored)) return;
    const problem = findStoredProblem(this.#type, name, value);
    if (problem !== null) throw new StoredValueError({ what: this.#what(name), problem });
    checked.add(stored);
  }

  /** Returns the kind of a value. The rest of its name may hold ids of users. */
  #what(name: string): string {
    return `the ${this.#type}'s state ${name.split("/", 1).join()}`;
  }

  prefetch(names: readonly string[]): void {
    this.#object.prefetch(names);
  }

  list(prefix: string): readonly string[] {
    return this.#object.list(prefix);
  }

  set(name: string, value: Json): void {
    if (value === null) this.#object.clear(name);
    else this.#object.set(name, this.keepsReferences ? value : { v: protocolNumber, value });
  }

  clear(name: string): void {
    this.#object.clear(name);
  }

  send(to: ObjectAddress, method: string, argument: Json, options?: SendOptions): void {
    this.#object.send(to, method, withProtocol(argument), options);
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#object.call(to, method, withProtocol(argument));
  }

  launch(run: RunLaunch): string {
    return this.#object.launch(run);
  }

  wake(execution: string, name: string, value?: Json): void {
    this.#object.wake(execution, name, value);
  }

  cancel(execution: string): void {
    this.#object.cancel(execution);
  }

  kill(execution: string): void {
    this.#object.kill(execution);
  }
}
