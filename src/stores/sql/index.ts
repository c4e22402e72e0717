export type { Access, Work } from "./access.ts";
export { Bell } from "./bell.ts";
export { migrate } from "./migrations.ts";
export { SqlStore } from "./sql-store.ts";
export type { Tables } from "./tables.ts";
