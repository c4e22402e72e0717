export type { Access, Work, WriteOptions } from "./access.ts";
export { ChangeNotifier } from "./change-notifier.ts";
export { migrate } from "./migrations.ts";
export { SqlStore } from "./sql-store.ts";
export type { Tables } from "./tables.ts";
