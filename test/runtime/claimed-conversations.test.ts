import { agent, ChatMessage, createRuntime, type Runtime, SessionBusyError } from "reeve";
import type { Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { counter } from "./counting-model.ts";

const writer = agent({ name: "writer", model: counter });

/** Holds every call of a method of the store's sessions until the test lets it through. */
function hold(
  store: Store,
  method: "moveLeaf" | "remove" | "fork",
): { readonly reached: Promise<void>; readonly letGo: () => void } {
  const sessions: Record<string, unknown> = Object.assign(store.sessions);
  const own = sessions[method];
  const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  sessions[method] = async (...given: readonly unknown[]): Promise<unknown> => {
    reached.resolve();
    await held.promise;
    return typeof own === "function" ? Reflect.apply(own, store.sessions, given) : undefined;
  };
  return { reached: reached.promise, letGo: held.resolve };
}

const open = (store: Store): Runtime => createRuntime({ agents: [writer], store });

test("a turn that is started while its conversation moves back waits, and follows the entry moved to", async () => {
  const store = memoryStore();
  await using runtime = open(store);
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("one");
  const { leaf } = await talk.head();
  await talk.invoke("two");
  const move = hold(store, "moveLeaf");
  const moving = talk.navigate(leaf);
  await move.reached;
  expect(await talk.phase()).toBe("idle");
  const run = await talk.start("three");
  expect(await run.status()).toBe("pending");
  // Another turn is refused, as behind any other that waits.
  await expect(talk.start("four")).rejects.toThrow(SessionBusyError);
  const queued = await talk.start("five", { onBusy: "queue" });
  move.letGo();
  await moving;
  expect((await run.result()).output).toBe("3: three");
  expect((await queued.result()).output).toBe("5: five");
});

test("a turn that is started while its conversation is deleted begins an empty one", async () => {
  const store = memoryStore();
  await using runtime = open(store);
  const talk = await runtime.sessions.create(writer, { id: "talk" });
  await talk.invoke("one");
  const removal = hold(store, "remove");
  const deleting = talk.delete();
  await removal.reached;
  const run = await talk.start("two");
  expect(await run.status()).toBe("pending");
  removal.letGo();
  await deleting;
  expect((await run.result()).output).toBe("1: two");
});

test("a fork that is under way is of the conversation before the next turn", async () => {
  const store = memoryStore();
  await using runtime = open(store);
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("one");
  const fork = hold(store, "fork");
  const forking = talk.fork();
  await fork.reached;
  const run = await talk.start("two");
  expect(await run.status()).toBe("pending");
  fork.letGo();
  const copy = await forking;
  await run.result();
  expect((await copy.messages()).items.map(ChatMessage.text)).toEqual(["1: one", "one"]);
});

test("two changes of a conversation are made one after the other", async () => {
  await using runtime = open(memoryStore());
  const talk = await runtime.sessions.create(writer, { id: "talk" });
  await talk.invoke("one");
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const change = (name: string, until?: Promise<void>) =>
    runtime.whileIdle("talk", {}, async () => {
      order.push(`${name} begins`);
      await until;
      order.push(`${name} ends`);
    });
  const one = change("one", first.promise);
  await expect.poll(() => order).toHaveLength(1);
  const two = change("two");
  // The second change has asked for the conversation by then.
  for (let n = 0; n < 20; n += 1) await new Promise((done) => setImmediate(done));
  first.resolve();
  await Promise.all([one, two]);
  expect(order).toEqual(["one begins", "one ends", "two begins", "two ends"]);
});

test("a change that fails releases the conversation", async () => {
  await using runtime = open(memoryStore());
  const talk = await runtime.sessions.create(writer, { id: "talk" });
  const failing = runtime.whileIdle("talk", {}, () => Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  expect((await talk.invoke("one")).output).toBe("1: one");
});

test("another process that has moved the conversation meanwhile is not overwritten", async () => {
  const store = memoryStore();
  await using one = open(store);
  await using two = open(store);
  const talk = await one.sessions.create(writer, { id: "talk" });
  await talk.invoke("one");
  const { sessions } = store;
  const path = sessions.path.bind(sessions);
  const other = await two.sessions.get("talk");
  const [entry] = (await talk.messages()).items;
  // Between what navigate has read and what it writes, a turn of the other process is saved.
  let isMade = false;
  sessions.path = async (...given) => {
    const found = await path(...given);
    if (!isMade) {
      isMade = true;
      await other.invoke("two");
    }
    return found;
  };
  await expect(talk.navigate(entry?.id ?? null)).rejects.toThrow(SessionBusyError);
  expect((await talk.messages()).items.map(ChatMessage.text)).toEqual(["3: two", "two", "1: one", "one"]);
});
