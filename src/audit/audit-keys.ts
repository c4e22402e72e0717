import { randomBytes } from "node:crypto";
import type { Keys, Store } from "#kernel";
import { defaultKeys } from "#sealing";

const secret = randomBytes(32);
const ofThisProcess: Keys = { of: async () => [{ id: "process", secret }] };

/**
 * What the chains of a store are keyed with where its engine has no keys. Those that are gone with the process need none
 * that outlives it.
 */
export function auditKeys({ lasts }: Store): Keys {
  return lasts ? defaultKeys() : ofThisProcess;
}
