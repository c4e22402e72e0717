import { expect, test } from "vitest";
import { delegateEngine, delegateObject, type EngineProgram, type ObjectMethod } from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { isFull } from "../../effort.ts";
import { storedForm } from "../../stored-form.ts";
import { createTopicLoad } from "../topic-load.ts";

const subscribers = isFull ? 1_000 : 300;

/** Measures the state of a tree after each change. Events are not counted: they are a log. */
class MeasuredState {
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  maxBytes = 0;

  get messages(): number {
    return [...this.#sizes.keys()].filter((key) => key.startsWith("told/")).length;
  }

  measure(program: EngineProgram): EngineProgram {
    const measured =
      (method: ObjectMethod): ObjectMethod =>
      (object, argument) =>
        method(
          delegateObject(object, {
            set: (key, value) => {
              this.#note(key, key.length + JSON.stringify(value).length);
              object.set(key, value);
            },
            clear: (key) => {
              this.#note(key, 0);
              object.clear(key);
            },
          }),
          argument,
        );
    const objects = program.objects.map((given) => {
      const definition = storedForm(given);
      if (definition.type !== "tree") return definition;
      const methods = Object.entries(definition.methods).map(([name, method]) => [name, measured(method)]);
      return { ...definition, methods: Object.fromEntries(methods) };
    });
    return { ...program, objects };
  }

  #note(key: string, size: number): void {
    if (key.startsWith("event/")) return;
    this.#bytes += size - (this.#sizes.get(key) ?? 0);
    if (size > 0) this.#sizes.set(key, size);
    else this.#sizes.delete(key);
    this.maxBytes = Math.max(this.maxBytes, this.#bytes);
  }
}

test(`each of ${subscribers} subscribers gets 100 messages of two senders once and in order, and the state of the tree stays below 1 kB for each`, async () => {
  const state = new MeasuredState();
  const engine = local();
  const define: typeof engine.define = (program) => engine.define(state.measure(program));
  const agents = createTopicLoad({ subscribers, messagesPerSender: 50 });
  await using runtime = new Runtime({ agents, engine: delegateEngine(engine, { define }) });
  const run = await runtime.start(agents[0], "go", { spawn: { maxAgents: subscribers + 3 } });
  expect((await run.result()).output).toBe(subscribers);
  expect(state.maxBytes).toBeGreaterThan(500 * subscribers);
  expect(state.maxBytes).toBeLessThan(1_000 * subscribers);
  expect(state.messages).toBe(0);
});
