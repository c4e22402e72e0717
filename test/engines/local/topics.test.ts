import { expect, test } from "vitest";
import {
  AgentId,
  delegateEngine,
  delegateObject,
  Json,
  RunId,
  TopicId,
  type Agent,
  type ChildHandle,
  type EngineProgram,
  type ObjectMethod,
  type RunContext,
} from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";

const subscribers = 1_000;
const messagesPerSender = 50;
const text = "x".repeat(100);

const newsOf = (ctx: RunContext): TopicId => TopicId.of("news", ctx.supervision.treeId);

const agentOf = (name: string, run: Agent["run"]): Agent => ({ id: AgentId.of(name), run });

/** Reads the messages of two senders. Returns whether it got each once, those of one sender in order. */
const subscriber = agentOf("subscriber", async (ctx, inbox) => {
  const task = await inbox.next();
  const subscription = ctx.subscribe(newsOf(ctx));
  await subscription.begin();
  if (task) await ctx.reply(task, "subscribed");
  const next = new Map<Json, number>();
  let heard = 0;
  for await (const { data } of subscription) {
    const { sender, number } = Json.as<{ readonly sender: string; readonly number: number }>(data);
    if (number !== (next.get(sender) ?? 0)) return false;
    next.set(sender, number + 1);
    heard += 1;
    if (heard === 2 * messagesPerSender) break;
  }
  return next.size === 2 && [...next.values()].every((count) => count === messagesPerSender);
});

const sender = agentOf("sender", async (ctx) => {
  const { runId } = ctx.supervision;
  for (let number = 0; number < messagesPerSender; number++)
    await ctx.emit({ sender: RunId.number(runId), number, text }, newsOf(ctx));
});

/** Returns how many subscribers got every message once, in order. */
const lead = agentOf("lead", async (ctx) => {
  const spawn = async (): Promise<ChildHandle> =>
    (await ctx.askOrThrow(subscriber, "listen", { timeoutS: 600 })).handle;
  const runs = await Promise.all(Array.from({ length: subscribers }, spawn));
  const senders = await Promise.all(["a", "b"].map(() => ctx.spawn(sender, "go")));
  await Promise.all(senders.map((run) => ctx.join(run)));
  const ends = await Promise.all(runs.map((run) => ctx.join(run)));
  return ends.filter(({ output }) => output === true).length;
});

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
    const objects = program.objects.map((definition) => {
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

test("each of 1,000 subscribers gets 100 messages of two senders once and in order, and the state of the tree stays below 1 MB", async () => {
  const state = new MeasuredState();
  const engine = local();
  const define: typeof engine.define = (program) => engine.define(state.measure(program));
  await using runtime = new Runtime({
    agents: [lead, subscriber, sender],
    engine: delegateEngine(engine, { define }),
  });
  const run = await runtime.start(lead, "go", { spawn: { maxAgents: subscribers + 3 } });
  expect((await run.result()).output).toBe(subscribers);
  expect(state.maxBytes).toBeGreaterThan(500_000);
  expect(state.maxBytes).toBeLessThan(1_000_000);
  expect(state.messages).toBe(0);
}, 300_000);
