import { randomBytes } from "node:crypto";
import type { Keys, Store } from "#kernel";
import { defaultKeys } from "#sealing";

const secret = randomBytes(32);
const ofThisProcess: Keys = { getRing: async () => [{ id: "process", secret }] };

/**
 * Returns the keys for audit chains if the engine has none. A store that ends with the process needs no lasting keys.
 */
export function auditKeys({ durable }: Store): Keys {
  return durable ? defaultKeys() : ofThisProcess;
}
