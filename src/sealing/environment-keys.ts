import type { Keys } from "#kernel";
import { derive, masterKey } from "./derived-keys.ts";

/**
 * Keys from the environment, for production: `REEVE_KEY` seals and opens; `REEVE_KEY_PREVIOUS`, a list with commas,
 * only opens. To change the key, move the old one to the list, and keep it there as long as anything it sealed lives.
 *
 * @throws TypeError unless each is 32 bytes in base64.
 */
export function environmentKeys(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Keys {
  const newest = masterKey(environment["REEVE_KEY"] ?? "", "REEVE_KEY");
  const previous = (environment["REEVE_KEY_PREVIOUS"] ?? "").split(",").filter((text) => text.trim() !== "");
  const older = previous.map((text) => masterKey(text, "REEVE_KEY_PREVIOUS"));
  return { of: async (partition) => derive(partition, [newest, ...older]) };
}
