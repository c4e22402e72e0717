export { auditKeys } from "./audit-keys.ts";
export { auditOf, erasure, reduction, type AuditKind } from "./audit-of.ts";
export { AuditWriter } from "./audit-writer.ts";
export { Audit } from "./audit.ts";
export type { AuditNote } from "./chain.ts";
export type { AuditVerdict } from "./verify.ts";
