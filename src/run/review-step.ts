import type { Session } from "#agents";
import { EntryId, type SessionEntry } from "#kernel";

import type { RunServices } from "./run-services.ts";
import { userStep } from "./step.ts";

/** The kind of the entry that marks a review. */
const kind = "review";

/**
 * Checks, in one step, whether `every` turns were saved since the last review. If so, appends an entry that marks the
 * new one, so that the next turns count from there. Reads a bounded part of the conversation.
 */
export async function takeReview(services: RunServices, every: number): Promise<boolean> {
  const { engine, identity, state } = services;
  const place = state.session.savedPlace;
  if (!place) return false;
  const { session, at } = place;
  const run = async (): Promise<boolean> => {
    if (!(await hasTurns(session, at, every))) return false;
    const id = EntryId.reviewOf(at);
    const base = { id, parentId: at, branch: null, at: engine.clock.now() };
    const mark: SessionEntry = { ...base, type: "custom", kind, data: null };
    // Also true for the mark of a lost execution. False: the conversation has continued without this worker.
    const fence = { follows: at, turn: identity.scope.runId };
    return session.store.append(session.partition, session.key, [mark], fence);
  };
  const isDue = (await userStep(services, { name: "review", run })) === true;
  if (isDue) state.session.noteReviewed(EntryId.reviewOf(at));
  return isDue;
}

/** Whether a path has at least `every` turns since the last review. A turn consists of the entries of one run. */
async function hasTurns(session: Session, at: EntryId, every: number): Promise<boolean> {
  const runs = new Set<string>();
  for await (const entry of session.path(at)) {
    if (entry.type === "custom" && entry.kind === kind) return false;
    if (entry.type === "message") runs.add(entry.id.slice(0, entry.id.lastIndexOf(".")));
    if (runs.size >= every) return true;
  }
  return false;
}
