import { type EntryId, Json, type StepRetry } from "#kernel";
import type { TurnPlace } from "#tree";
import { createEmbed } from "./embed-texts.ts";
import { GatedStep } from "./gated-step.ts";
import { unreachable } from "./read-history.ts";
import type { RunServices } from "./run-services.ts";
import type { ScopedMemory } from "./scoped-memory.ts";
import { userStep } from "./step.ts";

/** A turn has its answer: the store is waited for, about an hour in all. */
const patient: StepRetry = { maxRetries: 12, baseMs: 500 };

/** Saves a turn. Returns the newest entry of the conversation; null if none is kept. */
export async function saveTurn(services: RunServices): Promise<EntryId | null> {
  const { engine, state } = services;
  const { session } = state;
  if (!session.isKept) return null;
  if (!session.isOpen) return session.leaf;
  const first = session.firstOfTurn;
  const saved = await userStep(services, {
    name: "save",
    run: () => adoptTurn(services, first),
    retry: patient,
  });
  const record = Json.as<SavedRecord>(saved);
  const lacksVectors = record !== null && typeof record === "object";
  const leaf = lacksVectors ? record.leaf : record;
  session.saved(leaf);
  const { outbox, time } = engine.driver;
  if (leaf !== null) outbox.event("turn.saved", time, null, { leaf });
  if (leaf !== null && lacksVectors) await embedTurn(services, { first, leaf });
  return leaf;
}

/** The leaf of a turn that was saved; `lacksVectors`: memory was given an embedder, whose calls need a step that can be charged. */
type SavedRecord = EntryId | null | { readonly leaf: EntryId; readonly lacksVectors: true };

/** Makes the turn part of the conversation, and calls what wants to know of it: again, if the step is made again. */
async function adoptTurn(services: RunServices, first: EntryId): Promise<SavedRecord> {
  const { identity, state } = services;
  const leaf = await state.session.adopt();
  const memory = state.openMemory(identity.scope.sessionId);
  if (leaf === null || !memory) return leaf;
  try {
    await callHandlers(services, memory, { first, leaf });
  } catch (error) {
    throw unreachable(error);
  }
  return memory.lacksVectors ? { leaf, lacksVectors: true } : leaf;
}

/** The entries of a turn, from the first to the last. */
interface TurnRange {
  readonly first: EntryId;
  readonly leaf: EntryId;
}

async function callHandlers(
  { identity, policy }: RunServices,
  memory: ScopedMemory,
  { first, leaf }: TurnRange,
): Promise<void> {
  const { onSaved = [] } = policy.agent;
  if (onSaved.length === 0) return;
  const { sessionId } = identity.scope;
  const entries = await memory.readTurn(first, leaf);
  for (const handle of onSaved) await handle({ sessionId, entries, memory });
}

/** Has the texts of a saved turn turned into vectors. A failure is reported: the turn is found by its words. */
async function embedTurn(services: RunServices, turn: TurnRange): Promise<void> {
  const { engine, identity, state } = services;
  const step = new GatedStep(services, { kind: "embed", subject: turn.leaf, of: "tool" });
  await step.run(async ({ calls }) => {
    const memory = state.openMemory(identity.scope.sessionId, createEmbed(services, calls));
    try {
      if (memory) await callHandlers(services, memory, turn);
    } catch (error) {
      if (calls.mustStop()) return null;
      engine.report("memory", error);
    }
    return { kind: "embedded" };
  });
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
