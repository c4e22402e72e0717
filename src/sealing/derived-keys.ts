import { createHash, hkdfSync } from "node:crypto";
import type { KeyRing, SealingKey } from "#kernel";

const idBytes = 6;

/** A secret from which the keys of all partitions are derived. */
export type MasterKey = Uint8Array;

/** Parses 32 bytes in base64. @throws TypeError that names the source, never the text. */
export function masterKey(text: string, place: string): MasterKey {
  const bytes = Buffer.from(text.trim(), "base64");
  if (bytes.length !== 32)
    throw new TypeError(
      `${place} must be a key of 32 bytes in base64, as \`openssl rand -base64 32\` prints it`,
    );
  return bytes;
}

/** Returns the keys of one partition, in the order of the master keys. */
export function derive(partition: string, [newest, ...older]: readonly [MasterKey, ...MasterKey[]]): KeyRing {
  return [deriveKey(newest, partition), ...older.map((master) => deriveKey(master, partition))];
}

function deriveKey(master: MasterKey, partition: string): SealingKey {
  const id = createHash("sha256").update("reeve key id\n").update(master).digest().subarray(0, idBytes);
  const secret = hkdfSync("sha256", master, "", `reeve seal 1\n${partition}`, 32);
  return { id: id.toString("base64url"), secret: new Uint8Array(secret) };
}
