import { type EntryId, Json, type StepRetry } from "#kernel";
import type { TurnPlace } from "#tree";
import type { RunServices } from "./run-services.ts";
import { unreachable } from "./read-history.ts";
import { userStep } from "./step.ts";

/** A turn has its answer: the store is waited for, about an hour in all. */
const patient: StepRetry = { maxRetries: 12, baseMs: 500 };

/** Saves a turn. Returns the newest entry of the conversation; null if none is kept. */
export async function saveTurn(services: RunServices): Promise<EntryId | null> {
  const { engine, state } = services;
  const { session } = state;
  if (!session.isKept) return null;
  if (!session.isOpen) return session.leaf;
  const saved = await userStep(services, { name: "save", run: () => adoptTurn(services), retry: patient });
  const leaf = Json.as<EntryId | null>(saved);
  session.saved(leaf);
  const { outbox, time } = engine.driver;
  if (leaf !== null) outbox.event("turn.saved", time, null, { leaf });
  return leaf;
}

/** Makes the turn part of the conversation, and calls what wants to know of it: again, if the step is made again. */
async function adoptTurn({ identity, policy, state }: RunServices): Promise<EntryId | null> {
  const { session } = state;
  const leaf = await session.adopt();
  const { onSaved = [] } = policy.agent;
  const { sessionId } = identity.scope;
  const memory = state.openMemory(sessionId);
  if (leaf === null || onSaved.length === 0 || !memory) return leaf;
  try {
    const entries = await memory.readTurn(session.firstOfTurn, leaf);
    for (const handle of onSaved) await handle({ sessionId, entries, memory });
  } catch (error) {
    throw unreachable(error);
  }
  return leaf;
}

/** Writes what waits, before the run goes on in a fresh execution that does not have it. */
export async function flushTurn(services: RunServices): Promise<void> {
  const { session } = services.state;
  if (session.isOpen) await userStep(services, { name: "flush", run: () => session.flush(), retry: patient });
}

/**
 * Returns the place of a copy of this run in its conversation: it reads up to where this turn began, or up to the last
 * turn that was saved. Null: the run takes no part in a conversation. Only the store may know where a turn began, so that is
 * read in a step.
 */
export function placeCopy(services: RunServices): TurnPlace | null | Promise<TurnPlace> {
  const { session } = services.state;
  const { turnStart } = session;
  if (turnStart === "none") return null;
  if (turnStart !== "stored") return copyAfter(turnStart.entry);
  const run = (): Promise<EntryId | null> => session.readTurnStart();
  return userStep(services, { name: "copy", run, retry: patient }).then((at) =>
    copyAfter(Json.as<EntryId | null>(at)),
  );
}

const copyAfter = (after: EntryId | null): TurnPlace => ({
  isKept: false,
  isNamed: true,
  isCopy: true,
  after,
});
