import type { Keys } from "#kernel";
import { derive, masterKey } from "./derived-keys.ts";

/**
 * Returns keys from the environment, for production. `REEVE_KEY` seals and opens; `REEVE_KEY_PREVIOUS`, a
 * comma-separated list, only opens. To rotate the key, move the old one to the list, and keep it there as long as data
 * sealed with it exists.
 *
 * @throws TypeError unless each is 32 bytes in base64.
 */
export function environmentKeys(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Keys {
  const newest = masterKey(environment["REEVE_KEY"] ?? "", "REEVE_KEY");
  const previous = (environment["REEVE_KEY_PREVIOUS"] ?? "").split(",").filter((text) => text.trim() !== "");
  const older = previous.map((text) => masterKey(text, "REEVE_KEY_PREVIOUS"));
  return { getRing: async (partition) => derive(partition, [newest, ...older]) };
}
