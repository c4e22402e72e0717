import type { AuditEntry, AuditHead } from "#kernel";
import { isMovedBack } from "./audit-of.ts";
import type { ChainKeys, LinkFault } from "./chain.ts";

/** Faults of a chain. */
export type AuditFault =
  | LinkFault
  /** The content of the link cannot be opened. */
  | "unreadable"
  /** The chain ends before a head that it once had, or records itself that links are missing. */
  | "truncated"
  /** The links are consistent, but a head that it once had is not among them. */
  | "forked";

/** Whether a chain is whole. `at` is the index of its first fault. */
export type AuditVerdict =
  | { readonly ok: true; readonly length: number; readonly head: AuditHead | null }
  | { readonly ok: false; readonly at: number; readonly fault: AuditFault };

/** Some links in order, or why the next one cannot be read. */
export type AuditPage = readonly AuditEntry[] | "unreadable";

/**
 * Verifies a chain from its first link. `kept`: heads it once had. `onPage` is called with the number of links
 * verified.
 */
export async function verifyChain(
  pages: AsyncIterable<AuditPage> | Iterable<AuditPage>,
  keys: ChainKeys,
  kept: readonly AuditHead[] = [],
  onPage: (checked: number) => void = () => undefined,
): Promise<AuditVerdict> {
  let head: AuditHead | null = null;
  const faulty = (fault: AuditFault): AuditVerdict => ({ ok: false, at: (head?.index ?? -1) + 1, fault });
  for await (const page of pages) {
    if (page === "unreadable") return faulty(page);
    for (const link of page) {
      const fault = keys.faultOf(link, head);
      if (fault) return faulty(fault);
      if (isMovedBack(link)) return faulty("truncated");
      if (kept.some(({ index, hash }) => index === link.index && hash !== link.hash)) return faulty("forked");
      head = { index: link.index, hash: link.hash };
    }
    onPage((head?.index ?? -1) + 1);
  }
  const length = (head?.index ?? -1) + 1;
  return kept.some(({ index }) => index >= length) ? faulty("truncated") : { ok: true, length, head };
}
