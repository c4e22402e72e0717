import {
  ChatMessage,
  encodeError,
  isJsonObject,
  Json,
  type Agent,
  type ErrorData,
  type NumberedEvent,
  type SpawnOptions,
} from "#kernel";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { manualModel, type ManualCall, type ManualModel } from "../manual-model.ts";
import { agentOf, eventually, onRuntime, type SuiteHarness } from "./harness.ts";
import { historyOf, waitForEvent } from "./history.ts";

/** A tree whose root spawns children on request. */
export interface SpawnHarness {
  readonly runtime: Runtime;
  /** Waits for requests, and holds its slot. */
  readonly root: RunHandle;
  /** Sends each word of `task` to the model in turn; at a word like `?go` it waits for that signal instead. */
  readonly worker: Agent;
  readonly model: ManualModel;
  /** Spawns a worker. @throws if it is denied. */
  spawn(task: string, options?: SpawnOptions): Promise<RunHandle>;
  /** Returns the error of a denied spawn. */
  expectDenied(task: string, options?: SpawnOptions): Promise<ErrorData>;
  /** Returns the call for this word, once it was made: the first one, or the `nth`. */
  call(word: string, nth?: number): Promise<ManualCall>;
  /** Whether the model ever received this word. */
  wasAsked(word: string): boolean;
  /** Lets the root end, and returns the tree's events. */
  close(): Promise<readonly NumberedEvent[]>;
}

/** Options of an office. */
export interface OfficeOptions extends StartOptions {
  readonly runtime?: Omit<Parameters<SuiteHarness["runtime"]>[0], "agents">;
}

/** Runs a case's body in an office that is closed afterwards. */
export async function inSpawnHarness(
  harness: SuiteHarness,
  { runtime: more, ...start }: OfficeOptions,
  body: (spawner: SpawnHarness) => Promise<void>,
): Promise<void> {
  const model = manualModel();
  const worker = workerOf(model);
  const lead = leadOf(worker);
  await onRuntime(harness, { ...more, agents: [lead, worker] }, async (runtime) => {
    const root = await runtime.start(lead, "open", start);
    await body(spawner({ runtime, root, worker, model }));
    await root.cancel("closing time");
  });
}

function workerOf(model: ManualModel): Agent {
  return agentOf(
    "worker",
    async (ctx, inbox) => {
      const task = await inbox.next();
      const answers: Json[] = [];
      for (const word of task?.text.split(" ") ?? []) {
        if (word.startsWith("?")) answers.push(await ctx.waitFor(word.slice(1)));
        else answers.push(ChatMessage.text((await ctx.llm([ChatMessage.user(word)])).message));
      }
      return answers;
    },
    { model },
  );
}

function leadOf(worker: Agent): Agent {
  return agentOf("lead", async (ctx, inbox) => {
    await inbox.next();
    for (;;) {
      const order = await inbox.next({ waitS: 600 });
      if (!order || order.text === "close") return "closed";
      const outcome = await ctx.spawn(worker, order.text, Json.as<SpawnOptions>(order.data)).then(
        ({ runId }) => ({ runId }),
        (error: unknown) => ({ error: encodeError(error) }),
      );
      await ctx.emit(Json.of({ order: order.id, ...outcome }));
    }
  });
}

function spawner({
  runtime,
  root,
  worker,
  model,
}: Pick<SpawnHarness, "runtime" | "root" | "worker" | "model">): SpawnHarness {
  let orders = 0;
  const order = async (task: string, options: SpawnOptions = {}): Promise<Outcome> => {
    const id = `order-${++orders}`;
    await root.send(task, { id, data: Json.of(options) });
    const { data } = await waitForEvent(root, "progress.emitted", (event) => isAnswer(event.data, id));
    return Json.as(data);
  };
  const callsFor = (word: string): readonly ManualCall[] =>
    model.calls.filter(({ request }) =>
      request.messages.some((message) => ChatMessage.text(message) === word),
    );
  return {
    runtime,
    root,
    worker,
    model,
    async spawn(task, options) {
      const { runId, error } = await order(task, options);
      if (runId === undefined) throw new Error(`not spawned: ${JSON.stringify(error)}`);
      return runtime.run(runId);
    },
    async expectDenied(task, options) {
      const { runId, error } = await order(task, options);
      if (error === undefined) throw new Error(`spawned although it must not be: ${runId}`);
      return error;
    },
    async call(word, nth = 0) {
      await eventually(`the model is asked ${word}`, () => callsFor(word).length > nth);
      const call = callsFor(word)[nth];
      if (!call) throw new Error(`no call for ${word}`);
      return call;
    },
    wasAsked: (word) => callsFor(word).length > 0,
    async close() {
      await root.send("close");
      return historyOf(root);
    },
  };
}

interface Outcome {
  readonly runId?: string;
  readonly error?: ErrorData;
}

function isAnswer(data: Json, id: string): boolean {
  return isJsonObject(data) && data["order"] === id;
}
