import { AttemptId, MessageId } from "#kernel";
import type { RunHandle } from "#runtime";
import type { Scope } from "../auth.ts";
import { contentFields, labels } from "../content-shapes.ts";
import { toJsonResponse, type Route, route } from "../route.ts";
import type { Pool } from "../limits.ts";
import { dollars, type ObjectShape, priority, shape } from "../shape.ts";
import { findRun } from "./find-run.ts";

interface Action<Body> {
  readonly name: string;
  readonly scope: Scope;
  readonly summary: string;
  readonly takesFiles?: boolean;
  readonly pool?: Pool;
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
    handle: async (call) => toJsonResponse((await act(await findRun(call), call.body)) ?? {}),
  });
}

/** Required: a caller that lost the answer sends the same id again, and the operation counts once. */
const id = shape.id(MessageId.of, "an operation");

const operation = shape.object({ id });

const content = shape.object({ ...contentFields, labels: shape.optional(labels), id });

const usage = shape.object({
  input: shape.integer(),
  output: shape.integer(),
  cachedInput: shape.optional(shape.integer()),
});

export const actionRoutes: readonly Route[] = [
  action({
    name: "steer",
    scope: "run",
    summary: "Steer a run: it reads the content before its next model call; the same id counts once",
    takesFiles: true,
    body: content,
    act: (run, { id: messageId, labels: added = {}, ...input }) =>
      run.steer(input, { id: messageId, labels: added }),
  }),
  action({
    name: "follow-up",
    scope: "run",
    summary: "Follow up: the run reads the content when it would stop; the same id counts once",
    takesFiles: true,
    body: content,
    act: (run, { id: messageId, labels: added = {}, ...input }) =>
      run.followUp(input, { id: messageId, labels: added }),
  }),
  action({
    name: "signal",
    scope: "run",
    summary: "Send a signal to a run; the same id counts once",
    body: shape.object({
      name: shape.line(),
      data: shape.optional(shape.json()),
      labels: shape.optional(labels),
      id,
    }),
    act: (run, body) => run.signal(body.name, body.data ?? null, { id: body.id, labels: body.labels ?? {} }),
  }),
  action({
    name: "pause",
    scope: "run",
    pool: "control",
    summary: "Pause the run and everything below it; the same id counts once",
    body: operation,
    act: (run, body) => run.pause(body),
  }),
  action({
    name: "resume",
    scope: "run",
    pool: "control",
    summary: "Resume a paused run; the same id counts once",
    body: operation,
    act: (run, body) => run.resume(body),
  }),
  action({
    name: "cancel",
    scope: "run",
    pool: "control",
    summary: "Cancel the run and everything below it; answers when all runs have ended",
    body: shape.object({ reason: shape.optional(shape.text()) }),
    act: (run, { reason }) => run.cancel(reason),
  }),
  action({
    name: "reprioritize",
    scope: "admin",
    pool: "control",
    summary: "Change the priority of the run; the same id counts once",
    body: shape.object({ priority, id }),
    act: (run, body) => run.reprioritize(body.priority, { id: body.id }),
  }),
  action({
    name: "top-up",
    scope: "admin",
    pool: "control",
    summary: "Raise the limits of the run and, for a root, of the tree; the same id counts once",
    body: shape.object({
      maxTokens: shape.optional(shape.integer()),
      maxCostUsd: shape.optional(dollars),
      maxTurns: shape.optional(shape.integer()),
      id,
    }),
    act: (run, { id: operationId, ...amounts }) => run.topUp(amounts, { id: operationId }),
  }),
  action({
    name: "keep",
    scope: "admin",
    summary: "Keep the recorded content of the steps of its tree permanently",
    body: shape.object({}),
    act: async (run) => ({ kept: await run.keep() }),
  }),
  action({
    name: "reconcile",
    scope: "admin",
    summary: "Settle an attempt in doubt with the tokens it used",
    body: shape.object({ attempt: shape.id(AttemptId.of, "an attempt"), usage }),
    act: async (run, body) => ({ reconciled: await run.reconcile(body.attempt, body.usage) }),
  }),
];
