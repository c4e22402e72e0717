import {
  encodeError,
  Json,
  NotFoundError,
  RetryableError,
  type BatchedCall,
  type BatchedReply,
} from "#kernel";
import { expect, test } from "vitest";
import { GroupedCalls } from "../../../src/engines/restate/client/grouped-calls.ts";
import type { MethodCall } from "../../../src/engines/restate/sealing/sealed-call.ts";

const to = { type: "notes", key: "k" };

/** A call that has arrived, and its answer. */
interface Arrived extends MethodCall {
  readonly signal: AbortSignal | undefined;
  readonly answer: (reply: Json) => void;
  readonly fail: (error: unknown) => void;
}

/** Calls of an object whose answers the test gives. */
class Calls {
  readonly arrived: Arrived[] = [];
  readonly #grouped = new GroupedCalls(
    (call, signal) =>
      new Promise((answer, fail) => {
        this.arrived.push({ ...call, signal, answer, fail });
        signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
      }),
    [
      {
        type: "notes",
        methods: { add: () => null, batch: () => null },
        queries: { read: () => null },
        batchMethod: "batch",
      },
      { type: "plain", methods: { add: () => null }, queries: {} },
    ],
  );

  call(argument: Json, options: { readonly signal?: AbortSignal; readonly call?: Partial<MethodCall> } = {}) {
    return this.#grouped.call({ to, method: "add", argument, ...options.call }, options.signal);
  }

  /** Answers a call that has arrived. */
  async answer(index: number, reply: Json): Promise<void> {
    this.arrived[index]?.answer(reply);
    await settle();
  }

  /** The arguments of the calls that travel together. */
  together(index: number): readonly Json[] {
    const { calls } = Json.as<{ readonly calls: readonly BatchedCall[] }>(
      this.arrived[index]?.argument ?? {},
    );
    return calls.map(({ argument }) => argument);
  }
}

/** Resolves when all that can happen now has happened. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const replies = (...given: readonly BatchedReply[]): Json => Json.of(given);

test("a call without concurrent calls is sent alone, at once", async () => {
  const calls = new Calls();
  const first = calls.call(1);
  expect(calls.arrived).toMatchObject([{ method: "add", argument: 1 }]);
  await calls.answer(0, "one");
  expect(await first).toBe("one");
  void calls.call(2);
  expect(calls.arrived[1]).toMatchObject({ method: "add", argument: 2 });
});

test("calls that arrive while one is in flight are sent together, in order of arrival", async () => {
  const calls = new Calls();
  const made = [1, 2, 3].map((argument) => calls.call(argument));
  expect(calls.arrived).toHaveLength(1);
  await calls.answer(0, "one");
  expect(calls.together(1)).toEqual([2, 3]);
  await calls.answer(1, replies({ value: "two" }, { value: "three" }));
  expect(await Promise.all(made)).toEqual(["one", "two", "three"]);
  expect(calls.arrived).toHaveLength(2);
});

test("each call of a batch gets its own reply or error", async () => {
  const calls = new Calls();
  const made = [1, 2, 3].map((argument) => calls.call(argument));
  await calls.answer(0, "one");
  const error = encodeError(new NotFoundError({ what: "note", id: "2" }));
  const failing = made[1]?.catch((thrown: unknown) => thrown);
  await calls.answer(1, replies({ error }, { value: "three" }));
  expect(await failing).toBeInstanceOf(NotFoundError);
  expect(await made[2]).toBe("three");
});

test("a batch has at most 64 calls", async () => {
  const calls = new Calls();
  const made = Array.from({ length: 70 }, (_, index) => calls.call(index));
  await calls.answer(0, null);
  expect(calls.together(1)).toHaveLength(64);
  await calls.answer(1, Json.of(calls.together(1).map((value) => ({ value }))));
  expect(calls.together(2)).toEqual([65, 66, 67, 68, 69]);
  await calls.answer(2, Json.of(calls.together(2).map((value) => ({ value }))));
  expect((await Promise.all(made)).slice(1)).toEqual(Array.from({ length: 69 }, (_, index) => index + 1));
});

test("calls of other objects, queries, and calls of objects without batches do not wait", () => {
  const calls = new Calls();
  for (const call of [{}, { to: { type: "notes", key: "other" } }, { method: "read" }])
    void calls.call(1, { call });
  for (const _ of [1, 2]) void calls.call(1, { call: { to: { type: "plain", key: "k" } } });
  expect(calls.arrived).toHaveLength(5);
});

test("a call aborted while it waits is not sent", async () => {
  const calls = new Calls();
  const controller = new AbortController();
  const made = [calls.call(1), calls.call(2, controller), calls.call(3)];
  controller.abort(new RangeError("no longer"));
  await expect(made[1]).rejects.toThrow("no longer");
  await calls.answer(0, "one");
  expect(calls.arrived[1]).toMatchObject({ method: "add", argument: 3 });
  const late = calls.call(4, controller);
  await expect(late).rejects.toThrow("no longer");
});

test("a call aborted in flight stops waiting, and the other calls of the batch get their answers", async () => {
  const calls = new Calls();
  const [second, third] = [new AbortController(), new AbortController()];
  const made = [calls.call(1), calls.call(2, second), calls.call(3, third)];
  await calls.answer(0, "one");
  second.abort(new RangeError("no longer"));
  await expect(made[1]).rejects.toThrow("no longer");
  expect(calls.arrived[1]?.signal?.aborted).toBe(false);
  await calls.answer(1, replies({ value: "two" }, { value: "three" }));
  expect(await made[2]).toBe("three");
});

test("a batch without waiting callers is abandoned, and the next calls are sent", async () => {
  const calls = new Calls();
  const controller = new AbortController();
  const made = [calls.call(1), calls.call(2, controller), calls.call(3, controller)];
  await calls.answer(0, "one");
  void calls.call(4);
  controller.abort(new RangeError("no longer"));
  await expect(made[1]).rejects.toThrow("no longer");
  await expect(made[2]).rejects.toThrow("no longer");
  await settle();
  expect(calls.arrived[2]).toMatchObject({ method: "add", argument: 4 });
});

test("a batch refused as a whole is sent again call by call", async () => {
  const calls = new Calls();
  const made = [1, 2, 3].map((argument) => calls.call(argument));
  await calls.answer(0, "one");
  calls.arrived[1]?.fail(new TypeError("no method batch"));
  await settle();
  expect(calls.arrived.slice(2)).toMatchObject([{ argument: 2 }, { argument: 3 }]);
  await calls.answer(2, "two");
  await calls.answer(3, "three");
  expect(await Promise.all(made)).toEqual(["one", "two", "three"]);
});

test("a batch without an answer is an error for each of its callers", async () => {
  const calls = new Calls();
  const made = [1, 2, 3].map((argument) => calls.call(argument));
  await calls.answer(0, "one");
  calls.arrived[1]?.fail(new RetryableError({ message: "no answer" }));
  await expect(made[1]).rejects.toThrow(RetryableError);
  await expect(made[2]).rejects.toThrow(RetryableError);
  expect(calls.arrived).toHaveLength(2);
});
