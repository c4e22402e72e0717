import { resolve } from "node:path";
import type { ApiKeyRecord, Store } from "#kernel";
import { createApiKey, type NewApiKey } from "#server";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { screenOf, type Terminal } from "../terminal.ts";
import { keyLines } from "../views/lists.ts";

/** The place of the keys, and the tenant that they belong to. */
export interface KeysContext {
  readonly terminal: Terminal;
  readonly json: boolean;
  /** A `postgres://` address, or the path of a SQLite file. */
  readonly store: string;
  readonly tenant: string | null;
}

/** Makes a key and shows it, once. */
export async function createKey(
  context: KeysContext,
  { days, ...wanted }: Pick<NewApiKey, "user" | "scopes"> & { readonly days: number },
): Promise<number> {
  const { terminal, json, tenant } = context;
  const expiresAt = Date.now() + days * 24 * 60 * 60 * 1000;
  const { key, record } = createKeyOrFail({ ...wanted, tenant, expiresAt });
  await using store = await openStore(context);
  await store.apiKeys.put(record);
  terminal.out.write(json ? `${JSON.stringify({ key, ...hideHash(record) })}\n` : `${key}\n`);
  return ExitCode.ok;
}

/** Lists the keys of a tenant. */
export async function listKeys(context: KeysContext): Promise<number> {
  const { terminal, json, tenant } = context;
  await using store = await openStore(context);
  const keys = await store.apiKeys.list(tenant);
  const lines = json ? keys.map((key) => JSON.stringify(hideHash(key))) : keyLines(keys, screenOf(terminal));
  for (const line of lines) terminal.out.write(`${line}\n`);
  return ExitCode.ok;
}

/** Revokes a key of a tenant, by its id. */
export async function revokeKey(context: KeysContext, id: string): Promise<number> {
  const { terminal, json, tenant } = context;
  await using store = await openStore(context);
  const known = await store.apiKeys.find(id);
  if (!known || known.tenant !== tenant)
    throw new CliError(`no key ${id}`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
      hint: "`reeve keys list` shows the keys of a tenant",
    });
  await store.apiKeys.revoke(tenant, id);
  terminal.out.write(json ? `${JSON.stringify({ revoked: id })}\n` : `${id} revoked\n`);
  return ExitCode.ok;
}

/** Returns the record without its hash. */
function hideHash(record: ApiKeyRecord): Omit<ApiKeyRecord, "hash"> {
  const { hash: _, ...rest } = record;
  return rest;
}

function createKeyOrFail(wanted: NewApiKey): ReturnType<typeof createApiKey> {
  try {
    return createApiKey(wanted);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw new CliError(error.message, { code: "usage", exitCode: ExitCode.usage });
  }
}

/** Opens the store, with the library of its database alone. */
async function openStore({ store, terminal }: KeysContext): Promise<Store> {
  if (/^postgres(ql)?:/.test(store)) {
    const { postgresStore } = await import("#stores/postgres");
    return postgresStore({ connectionString: store });
  }
  const { sqliteStore } = await import("#stores/sqlite");
  return sqliteStore({ path: resolve(terminal.folder, store) });
}
