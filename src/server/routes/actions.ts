import { AttemptId, MessageId } from "#kernel";
import type { RunHandle } from "#runtime";
import type { Scope } from "../auth.ts";
import { contentFields, labels } from "../content-shapes.ts";
import { answer, type Route, route } from "../route.ts";
import { type ObjectShape, priority, shape } from "../shape.ts";
import { runOf } from "./run-of.ts";

interface Action<Body> {
  readonly name: string;
  readonly scope: Scope;
  readonly summary: string;
  readonly takesFiles?: boolean;
  readonly body?: ObjectShape<Body>;
  readonly act: (run: RunHandle, body: Body) => Promise<unknown>;
}

/** Creates a route that acts on a run. It responds with the result of the action, or `{}`. */
function action<Body = unknown>({ name, act, ...rest }: Action<Body>): Route {
  return route<unknown, Body>({
    ...rest,
    method: "post",
    forUsers: true,
    path: `/runs/:run/${name}`,
    handle: async (call) => answer((await act(await runOf(call), call.body)) ?? {}),
  });
}

/** Required: a caller that lost the answer sends the same id again, and the operation counts once. */
const id = shape.id(MessageId.of, "an operation");

const operation = shape.object({ id });

const content = shape.object({ ...contentFields, labels: shape.optional(labels), id });

const usage = shape.object({
  input: shape.whole(),
  output: shape.whole(),
  cachedInput: shape.optional(shape.whole()),
});

export const actionRoutes: readonly Route[] = [
  action({
    name: "steer",
    scope: "run",
    summary: "Content for the work in hand: before the next model call; the same id counts once",
    takesFiles: true,
    body: content,
    act: (run, { id: messageId, labels: added = {}, ...input }) =>
      run.steer(input, { id: messageId, labels: added }),
  }),
  action({
    name: "follow-up",
    scope: "run",
    summary: "Content for after it: when the agent would stop; the same id counts once",
    takesFiles: true,
    body: content,
    act: (run, { id: messageId, labels: added = {}, ...input }) =>
      run.followUp(input, { id: messageId, labels: added }),
  }),
  action({
    name: "signal",
    scope: "run",
    summary: "Wake a wait for this name; the same id counts once",
    body: shape.object({
      name: shape.text(),
      data: shape.optional(shape.json()),
      labels: shape.optional(labels),
      id,
    }),
    act: (run, body) => run.signal(body.name, body.data ?? null, { id: body.id, labels: body.labels ?? {} }),
  }),
  action({
    name: "pause",
    scope: "run",
    summary: "Hold the run and everything below it; the same id counts once",
    body: operation,
    act: (run, body) => run.pause(body),
  }),
  action({
    name: "resume",
    scope: "run",
    summary: "Lift a hold; the same id counts once",
    body: operation,
    act: (run, body) => run.resume(body),
  }),
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
    summary: "Give the run another priority; the same id counts once",
    body: shape.object({ priority, id }),
    act: (run, body) => run.reprioritize(body.priority, { id: body.id }),
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
    act: (run, { id: operationId, ...amounts }) => run.topUp(amounts, { id: operationId }),
  }),
  action({
    name: "keep",
    scope: "admin",
    summary: "Keep the recorded content of the steps of its tree for good",
    body: shape.object({}),
    act: async (run) => ({ kept: await run.keep() }),
  }),
  action({
    name: "reconcile",
    scope: "admin",
    summary: "Tell what an attempt in doubt really used",
    body: shape.object({ attempt: shape.id(AttemptId.of, "an attempt"), usage }),
    act: async (run, body) => ({ reconciled: await run.reconcile(body.attempt, body.usage) }),
  }),
];
