import { expect, test } from "vitest";
import {
  AgentId,
  delegateEngine,
  delegateObject,
  type Json,
  TopicId,
  type Agent,
  type EngineProgram,
  type ObjectMethod,
  type RunContext,
} from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";

const followers = 1_000;
const messages = 100;
const text = "x".repeat(500);

const newsOf = (ctx: RunContext): TopicId => TopicId.of("news", ctx.supervision.treeId);

const agentOf = (name: string, run: Agent["run"]): Agent => ({ id: AgentId.of(name), run });

/** Returns the numbers of the messages that it has heard. */
const follower = agentOf("follower", async (ctx, inbox) => {
  const task = await inbox.next();
  const following = ctx.follow(newsOf(ctx));
  await following.begin();
  if (task) await ctx.reply(task, "following");
  const heard: Json[] = [];
  for await (const { data } of following) if (heard.push(Object(data).number) === messages) break;
  return heard;
});

const all = Array.from({ length: messages }, (_, number) => number);

/** Returns how many followers have heard every message once, in order. */
const boss = agentOf("boss", async (ctx) => {
  const replies = await Promise.all(
    Array.from({ length: followers }, () => ctx.askOrThrow(follower, "listen", { timeoutS: 600 })),
  );
  for (const number of all) await ctx.emit({ number, text }, newsOf(ctx));
  const ends = await Promise.all(replies.map(({ handle }) => ctx.join(handle)));
  return ends.filter(({ output }) => JSON.stringify(output) === JSON.stringify(all)).length;
});

/** The parts of a tree's state that messages to topics are stored in. */
const parts = new Set(["run", "inbox", "topic", "subscriptions", "told"]);

/** Measures those parts of the state of a tree after each change. */
class Measured {
  readonly #sizes = new Map<string, number>();
  #now = 0;
  /** The size when the first message was told. */
  before = 0;
  most = 0;

  get messages(): number {
    return [...this.#sizes.keys()].filter((key) => key.startsWith("told/")).length;
  }

  on(program: EngineProgram): EngineProgram {
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
    if (!parts.has(key.split("/", 1).join())) return;
    if (key.startsWith("told/0/") && size > 0) this.before = this.#now;
    this.#now += size - (this.#sizes.get(key) ?? 0);
    if (size > 0) this.#sizes.set(key, size);
    else this.#sizes.delete(key);
    this.most = Math.max(this.most, this.#now);
  }
}

test("1,000 followers hear 100 messages each once and in order, which adds less than 1 MB to the state of the tree", async () => {
  const measured = new Measured();
  const engine = local();
  const define: typeof engine.define = (program) => engine.define(measured.on(program));
  await using runtime = new Runtime({
    agents: [boss, follower],
    engine: delegateEngine(engine, { define }),
  });
  const run = await runtime.start(boss, "go", { spawn: { maxAgents: followers + 1 } });
  expect((await run.result()).output).toBe(followers);
  expect(measured.before).toBeGreaterThan(0);
  expect(measured.most - measured.before).toBeLessThan(1_000_000);
  expect(measured.messages).toBe(0);
}, 300_000);
