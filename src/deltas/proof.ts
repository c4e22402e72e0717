import { isJsonObject, type Json, type Seal } from "#kernel";

/** How far the clocks of two machines may be apart. */
const freshMs = 30_000;
const purpose = "watch deltas";

/** What a reader shows a worker: that it has the key of the tree, now, for this worker and nothing else. */
export function proofOf(
  sealer: Seal,
  { worker, at }: { readonly worker: string; readonly at: number },
): string {
  const said = JSON.stringify({ purpose, worker, at });
  return Buffer.from(sealer.seal(Buffer.from(said))).toString("base64url");
}

/** Is it one, for this worker at this time? */
export function isProof(
  sealer: Seal,
  proof: string,
  { worker, at }: { readonly worker: string; readonly at: number },
): boolean {
  try {
    const said: Json = JSON.parse(Buffer.from(sealer.open(Buffer.from(proof, "base64url"))).toString("utf8"));
    if (!isJsonObject(said) || said["purpose"] !== purpose || said["worker"] !== worker) return false;
    return Math.abs(Number(said["at"]) - at) <= freshMs;
  } catch {
    return false;
  }
}
