import {
  checkDuration,
  encodeError,
  Json,
  type Clock,
  type ErrorData,
  type EventType,
  type Hook,
  type Hooks,
  type NumberedEvent,
} from "#kernel";
import { deepFreeze, systemClock, withTimeout } from "#base";

const keptErrors = 100;

/** A hook that failed. */
export interface HookError {
  readonly type: EventType;
  readonly error: ErrorData;
}

/** A set of hooks that belongs together, such as a cost tracker. */
export interface HookSet {
  readonly hooks: { readonly [Type in EventType]?: Hook<Type> };
}

/**
 * The hooks of one agent. They see every event and change nothing. All callbacks of an event run concurrently and
 * isolated: one that throws, hangs or changes its argument is only recorded in `errors`.
 */
export class HookManager implements Hooks {
  readonly #hooks = new Map<EventType, Set<Hook>>();
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #errors: HookError[] = [];

  constructor(options: { /** Default: 5,000. */ readonly timeoutMs?: number; readonly clock?: Clock } = {}) {
    this.#timeoutMs = checkDuration("timeoutMs", options.timeoutMs ?? 5_000);
    this.#clock = options.clock ?? systemClock;
  }

  /** The latest 100 failures. */
  get errors(): readonly HookError[] {
    return this.#errors;
  }

  on<Type extends EventType>(type: Type, hook: Hook<Type>): () => void {
    const hooks = this.#hooks.get(type) ?? new Set();
    // Stored under its own type and called only with events of it.
    const callHook: Hook = (event) => hook(Json.as<NumberedEvent<Type>>(Json.of(event)));
    hooks.add(callHook);
    this.#hooks.set(type, hooks);
    return () => void hooks.delete(callHook);
  }

  /** Registers a whole set. Returns a function that removes it. */
  register({ hooks }: HookSet): () => void {
    const leave = Object.entries(hooks).map(([type, hook]) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a set pairs each type with a hook of it
      this.on(type as EventType, hook as Hook),
    );
    return () => {
      for (const off of leave) off();
    };
  }

  async dispatch(event: NumberedEvent, onError?: (error: unknown) => void): Promise<void> {
    const hooks = this.#hooks.get(event.type);
    if (!hooks || hooks.size === 0) return;
    const frozen = deepFreeze(structuredClone(event));
    await Promise.all([...hooks].map((hook) => this.#call(hook, frozen, onError)));
  }

  async #call(hook: Hook, event: NumberedEvent, onError?: (error: unknown) => void): Promise<void> {
    const ms = this.#timeoutMs;
    const onTimeout = (): never => {
      throw new Error(`a hook took longer than ${ms} ms`);
    };
    try {
      const done = hook(event);
      if (done instanceof Promise) await withTimeout({ clock: this.#clock, ms, onTimeout }, () => done);
    } catch (error) {
      this.#note(event.type, error);
      onError?.(error);
    }
  }

  #note(type: EventType, error: unknown): void {
    this.#errors = [...this.#errors.slice(1 - keptErrors), { type, error: encodeError(error) }];
  }
}

/** Combines hooks: all of them get each event, concurrently. Undefined if there are none. */
export function combineHooks(list: readonly Hooks[]): Hooks | undefined {
  if (list.length < 2) return list[0];
  const added = new HookManager();
  const all = [...list, added];
  return {
    dispatch: async (event, onError) => {
      await Promise.all(all.map((hooks) => hooks.dispatch(event, onError)));
    },
    on: (type, hook) => added.on(type, hook),
  };
}
