import { randomUUID } from "node:crypto";
import { EntryId, retentions, TreeId, type Agent, type Input, type UserId } from "#kernel";
import type { RunHandle, TurnOptions } from "#runtime";
import { whose } from "../auth.ts";
import { input, labels } from "../content-shapes.ts";
import { toJsonResponse, type Call } from "../route.ts";
import { type Decoded, dollars, priority, refuseRequest, seconds, shape } from "../shape.ts";
import { limitStart } from "../start-limits.ts";
import { watchStart } from "./events.ts";
import { waitUntilListed } from "./wait-until-listed.ts";

/** The entry that a turn follows; null: none. */
export const entryOrNone = shape.nullable(shape.id(EntryId.of, "an entry"));

/** The fields of a start other than its agent, user and session. */
export const turnFields = {
  input,
  labels: shape.optional(labels),
  id: shape.optional(shape.id(TreeId.of, "a tree")),
  name: shape.optional(shape.line({ max: 120 })),
  onBusy: shape.optional(shape.oneOf(["refuse", "queue"])),
  after: shape.optional(entryOrNone),
  metadata: shape.optional(shape.record()),
  retention: shape.optional(shape.oneOf(retentions)),
  priority: shape.optional(priority),
  deadlineS: shape.optional(seconds),
  budget: shape.optional(
    shape.object({
      maxTokens: shape.optional(shape.integer()),
      maxCostUsd: shape.optional(dollars),
      maxTurns: shape.optional(shape.integer()),
      deadlineS: shape.optional(seconds),
      onLimit: shape.optional(shape.oneOf(["land", "wait"])),
    }),
  ),
  spawn: shape.optional(
    shape.object({
      maxAgents: shape.optional(shape.integer({ min: 1 })),
      allowPreempt: shape.optional(shape.flag()),
      maxTotal: shape.optional(shape.integer()),
    }),
  ),
} as const;

export const turnBody = shape.object(turnFields);

/** Starts a tree with options that the caller may have. */
export type Begin = (input: Input, options: TurnOptions) => Promise<Pick<RunHandle, "treeId" | "runId">>;

/** A start that was asked for. */
interface Start {
  readonly agent: Pick<Agent, "priority">;
  readonly user: UserId | null;
  readonly turn: Decoded<typeof turnBody>;
  readonly begin: Begin;
}

/**
 * Starts a tree within the limits of the key. Answers with its ids or, if the caller accepts server-sent events, with the
 * events and pieces of answers of the tree. @throws HttpError
 */
export async function startTree(call: Call, { agent, user, turn, begin }: Start): Promise<Response> {
  const { host, principal } = call;
  const { input: given, id = TreeId.of(randomUUID()), deadlineS, ...options } = turn;
  const limited = limitStart(call, agent, { ...options, ...(deadlineS !== undefined && { deadlineS }) });
  const isQueued = options.onBusy === "queue";
  const start = async (): Promise<Response> => {
    const { treeId, runId } = await begin(given, { ...options, ...limited, id });
    host.recent.add(principal, treeId, user);
    // A queued tree writes nothing to the store before its turn.
    if (!isQueued) call.hold(waitUntilListed(call, treeId));
    return toJsonResponse({ treeId, runId }, 202);
  };
  if (!call.header("accept")?.includes("text/event-stream")) return start();
  if (isQueued) refuseRequest("body.onBusy", 'must not be "queue" for a start with a stream');
  return watchStart(call, host.runtime.run(id, whose(principal)), start);
}
