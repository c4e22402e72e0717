import { isJsonObject, type Json, type Seal } from "#kernel";

/** Maximum clock skew between two machines. */
const freshMs = 30_000;
const purpose = "watch deltas";

/** Returns a subscriber's proof for a worker: that it has the key of the tree, now. Valid only for this worker. */
export function proofOf(
  sealer: Seal,
  { worker, at }: { readonly worker: string; readonly at: number },
): string {
  const said = JSON.stringify({ purpose, worker, at });
  return Buffer.from(sealer.seal(Buffer.from(said))).toString("base64url");
}

/** Whether a proof is valid for this worker at this time. */
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
