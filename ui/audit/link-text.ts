import type { AuditLink, Json } from "../api/records.ts";
import { dollars } from "../parts/amounts.ts";

type Fields = Readonly<Record<string, Json>>;

const isFields = (value: Json): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldsOf = (data: Json): Fields => (isFields(data) ? data : {});

/** A field of a link as text; empty: it has none. */
export function fieldText({ data }: AuditLink, name: string): string {
  const value = fieldsOf(data)[name];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const amountOf = (link: AuditLink): string => {
  const micros = Number(fieldText(link, "costMicros"));
  return Number.isFinite(micros) && fieldText(link, "costMicros") !== "" ? ` ${dollars(micros)}` : "";
};

/** The fields that a link of each kind is about. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  permission: ["tool"],
  approval: ["tool"],
  guardrail: ["guardrail"],
  spawn: ["childAgent", "reason"],
  spend: ["reason", "dimension"],
  switch: ["name"],
  budget: ["user"],
  retention: ["tree"],
};

/** Describes a link: the decision and its subject. */
export function linkText(link: AuditLink): string {
  const about = (subjects[link.kind] ?? []).map((name) => fieldText(link, name)).filter(Boolean);
  const decision = fieldText(link, "decision");
  return `${decision}${about.length === 0 ? "" : ` ${about.join(", ")}`}${amountOf(link)}`;
}

/** Returns the tree of a link. Null if the link is about the tenant. */
export function treeOf(link: AuditLink): string | null {
  const run = fieldText(link, "run");
  if (run !== "") return run.slice(0, run.lastIndexOf("~"));
  const tree = fieldText(link, "tree");
  return tree === "" ? null : tree;
}

/** The kinds of links, as the guide lists them. */
export const linkKinds = [
  "approval",
  "permission",
  "guardrail",
  "spawn",
  "spend",
  "reconcile",
  "cancel",
  "budget",
  "switch",
  "retention",
  "audit",
] as const;

/** Faults of a chain, worded as in the guide. */
export const faultTexts: Readonly<Record<string, string>> = {
  missing: "this link is missing, although later ones exist",
  misplaced: "the first link that was moved, copied or inserted",
  changed: "the first link that was changed, or was written without the key",
  unreadable: "the first link that cannot be decrypted: it was changed or moved",
  "unknown-key": "the first link whose key is missing: add the old key to REEVE_KEY_PREVIOUS",
  truncated: "the first link that was removed from the end",
  forked: "the saved head: the chain is intact, but is not the same chain",
};
