import { AttemptId, MessageId } from "#kernel";
import type { RunHandle } from "#runtime";
import type { Scope } from "../auth.ts";
import { answer, type Route, route } from "../route.ts";
import { type ObjectShape, priority, shape } from "../shape.ts";
import { runOf } from "./run-of.ts";

interface Action<Body> {
  readonly name: string;
  readonly scope: Scope;
  readonly summary: string;
  readonly body?: ObjectShape<Body>;
  readonly act: (run: RunHandle, body: Body) => Promise<unknown>;
}

/** Something that is done to a run. Answers with what it came to, or `{}`. */
function action<Body = unknown>({ name, act, ...rest }: Action<Body>): Route {
  return route<unknown, Body>({
    ...rest,
    method: "post",
    path: `/runs/:run/${name}`,
    handle: async (call) => answer((await act(await runOf(call), call.body)) ?? {}),
  });
}

/** What is said again under the same id counts once: for whoever has not heard the answer. */
const id = shape.optional(shape.id(MessageId.of, "a message"));
const once = (given: string | undefined): { readonly id?: string } =>
  given === undefined ? {} : { id: given };

const words = shape.object({ text: shape.text({ max: 100_000 }), id });

const usage = shape.object({
  input: shape.whole(),
  output: shape.whole(),
  cachedInput: shape.optional(shape.whole()),
});

export const actionRoutes: readonly Route[] = [
  action({
    name: "steer",
    scope: "run",
    summary: "Words for the work in hand: before the next model call; the same id counts once",
    body: words,
    act: (run, body) => run.steer(body.text, once(body.id)),
  }),
  action({
    name: "follow-up",
    scope: "run",
    summary: "Words for after it: when the agent would stop; the same id counts once",
    body: words,
    act: (run, body) => run.followUp(body.text, once(body.id)),
  }),
  action({
    name: "signal",
    scope: "run",
    summary: "Wake a wait for this name; the same id counts once",
    body: shape.object({
      name: shape.text(),
      data: shape.optional(shape.json()),
      id,
    }),
    act: (run, body) => run.signal(body.name, body.data ?? null, once(body.id)),
  }),
  action({
    name: "pause",
    scope: "run",
    summary: "Hold the run and everything below it",
    act: (run) => run.pause(),
  }),
  action({ name: "resume", scope: "run", summary: "Lift a hold", act: (run) => run.resume() }),
  action({
    name: "cancel",
    scope: "run",
    summary: "Stop the run and everything below it; answers when all have ended",
    body: shape.object({ reason: shape.optional(shape.text()) }),
    act: (run, { reason }) => run.cancel(reason),
  }),
  action({
    name: "reprioritize",
    scope: "admin",
    summary: "Give the run another priority",
    body: shape.object({ priority }),
    act: (run, body) => run.reprioritize(body.priority),
  }),
  action({
    name: "top-up",
    scope: "admin",
    summary: "Add to the run's limits and, for a root, to the tree's; the same id counts once",
    body: shape.object({
      maxTokens: shape.optional(shape.whole()),
      maxCostUsd: shape.optional(shape.amount()),
      maxTurns: shape.optional(shape.whole()),
      id,
    }),
    act: (run, { id: given, ...amounts }) => run.topUp(amounts, once(given)),
  }),
  action({
    name: "reconcile",
    scope: "admin",
    summary: "Tell what an attempt in doubt really used",
    body: shape.object({ attempt: shape.id(AttemptId.of, "an attempt"), usage }),
    act: async (run, body) => ({ reconciled: await run.reconcile(body.attempt, body.usage) }),
  }),
];
