import { postgresStore } from "reeve/stores/postgres";
import type { Store } from "reeve/store";

/** Returns a required environment variable. @throws TypeError if it is not set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new TypeError(`set ${name}`);
  return value;
}

export const number = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

export const restateAt = (): { readonly ingress: readonly string[]; readonly admin: string } => ({
  ingress: setting("RESTATE_INGRESS").split(","),
  admin: setting("RESTATE_ADMIN"),
});

export const openStore = (): Promise<Store> => postgresStore({ connectionString: setting("DATABASE_URL") });
