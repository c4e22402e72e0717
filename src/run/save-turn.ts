import { type EntryId, Json, type StepRetry } from "#kernel";
import type { TurnPosition } from "#tree";
import { createEmbed } from "./embed-texts.ts";
import { GatedStep } from "./gated-step.ts";
import { toRetryableError } from "./read-history.ts";
import type { RunServices } from "./run-services.ts";
import type { ScopedMemory } from "./scoped-memory.ts";
import { userStep } from "./step.ts";

/** Retries of the save: the turn has its answer, so the store is retried for about an hour. */
const patient: StepRetry = { maxRetries: 12, baseMs: 500 };

/** Saves a turn. Returns the newest entry of the conversation. Null if none is kept. */
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
  session.noteSaved(leaf);
  const { outbox, time } = engine.driver;
  if (leaf !== null) outbox.event("turn.saved", time, null, { leaf });
  if (leaf !== null && lacksVectors) await embedTurn(services, { first, leaf });
  return leaf;
}

/**
 * The leaf of a saved turn. `lacksVectors`: memory was given an embedder, whose calls need a step that can be charged.
 */
type SavedRecord = EntryId | null | { readonly leaf: EntryId; readonly lacksVectors: true };

/** Merges the turn into the conversation, and calls the handlers of saved turns. A repeated step calls them again. */
async function adoptTurn(services: RunServices, first: EntryId): Promise<SavedRecord> {
  const { identity, state } = services;
  const leaf = await state.session.adopt();
  const memory = state.openMemory(identity.scope.sessionId);
  if (!memory) return leaf;
  try {
    await callHandlers(services, memory, { first, leaf });
  } catch (error) {
    throw toRetryableError(error);
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

/** Converts the texts of a saved turn to vectors. A failure is reported only: the turn is found by its terms. */
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

/** Writes the waiting messages, before the run continues in a fresh execution that does not have them. */
export async function flushTurn(services: RunServices): Promise<void> {
  const { session } = services.state;
  if (session.isOpen) await userStep(services, { name: "flush", run: () => session.flush(), retry: patient });
}

/**
 * Returns the position of a copy of this run in its conversation. The copy reads up to the beginning of this turn, or
 * up to the last saved turn. Null: the run takes no part in a conversation. If only the store knows where a turn began,
 * it is read in a step.
 */
export function placeCopy(services: RunServices): TurnPosition | null | Promise<TurnPosition> {
  const { session } = services.state;
  const { turnStart } = session;
  if (turnStart === "none") return null;
  if (turnStart !== "stored") return copyAfter(turnStart.entry);
  const run = (): Promise<EntryId | null> => session.readTurnStart();
  return userStep(services, { name: "copy", run, retry: patient }).then((at) =>
    copyAfter(Json.as<EntryId | null>(at)),
  );
}

const copyAfter = (after: EntryId | null): TurnPosition => ({
  isKept: false,
  isNamed: true,
  isCopy: true,
  after,
});
