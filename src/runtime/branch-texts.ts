import { hash } from "node:crypto";
import { RunId, type ManifestText, type Partition, type SessionKey, type Store } from "#kernel";

const entriesPerRead = 100;

/**
 * Stores the messages of a branch that is about to be dropped as texts of its tree, because manifests of its steps name
 * them as entries. Does nothing for a run without manifests.
 */
export async function keepBranchTexts(
  { sessions, manifests }: Pick<Store, "sessions" | "manifests">,
  partition: Partition,
  { session, run }: { readonly session: SessionKey; readonly run: RunId },
): Promise<void> {
  const { items } = await manifests.list(partition, run, { size: 1 });
  if (items.length === 0) return;
  const texts: ManifestText[] = [];
  for (let from = await sessions.leaf(partition, session, run); from !== null;) {
    const path = await sessions.path(partition, session, { from, limit: entriesPerRead });
    const own = path.filter(({ branch }) => branch === run);
    for (const entry of own)
      if (entry.type === "message") texts.push(toManifestText(JSON.stringify(entry.message)));
    from = own.length === entriesPerRead ? (own.at(-1)?.parentId ?? null) : null;
  }
  await manifests.putTexts(partition, RunId.tree(run), { texts, isPermanent: true });
}

const toManifestText = (text: string): ManifestText => ({ hash: hash("sha256", text, "base64url"), text });
