import { type Command, InvalidArgumentError } from "commander";
import { ApiKeyRecord, type ApiKeyScope } from "#kernel";
import { CliError } from "../cli-error.ts";
import type * as KeyCommands from "../commands/keys.ts";
import { ExitCode } from "../exit-code.ts";
import { omitUndefined, parseCount } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface KeyFlags {
  readonly store?: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

interface CreateFlags extends KeyFlags {
  readonly user?: string;
  readonly scopes: readonly ApiKeyScope[];
  readonly days: number;
}

const inStore = (command: Command): Command =>
  command
    .option("--store <place>", "postgres:// address, or SQLite file (default: DATABASE_URL)")
    .option("--tenant <tenant>", "keys of this tenant (default: no tenant)")
    .option("--json", "print JSON: one object, or one per line");

/** Loads the commands, which need optional packages. @throws CliError that names the missing packages. */
const loadKeyCommands = async (): Promise<typeof KeyCommands> => {
  const { checkPackages } = await import("../dev/dev-needs.ts");
  checkPackages("reeve keys", ["hono", "kysely"]);
  return import("../commands/keys.ts");
};

/** `reeve keys`: it opens the store itself, because the first key cannot be asked for with a key. */
export function addKeys({ program, terminal, exit }: Commands): void {
  const keys = program.command("keys").description("manage the API keys of a server in its store");
  const contextOf = ({ store, tenant, json = false }: KeyFlags): KeyCommands.KeysContext => {
    const place = store ?? terminal.environment["DATABASE_URL"];
    if (place === undefined) throw unknownStore();
    return { terminal, json, tenant: tenant ?? null, store: place };
  };
  inStore(keys.command("create"))
    .description("create a key and print it once")
    .requiredOption("--scopes <scopes>", `one or more of ${ApiKeyRecord.scopes.join(",")}`, scopesOf)
    .option("--user <user>", "bind the key to this user (default: the whole tenant)")
    .option("--days <days>", "days until the key expires", parseCount, 365)
    .addHelpText("after", "\nExample:\n  reeve keys create --tenant acme --user ada --scopes read,run")
    .action(async ({ user, scopes, days, ...flags }: CreateFlags) => {
      const context = contextOf(flags);
      exit(await (await loadKeyCommands()).createKey(context, { ...omitUndefined({ user }), scopes, days }));
    });
  inStore(keys.command("list"))
    .description("list the keys of a tenant, with their users and scopes")
    .action(async (flags: KeyFlags) => {
      const context = contextOf(flags);
      exit(await (await loadKeyCommands()).listKeys(context));
    });
  inStore(keys.command("revoke <id>"))
    .description("revoke a key permanently")
    .action(async (id: string, flags: KeyFlags) => {
      const context = contextOf(flags);
      exit(await (await loadKeyCommands()).revokeKey(context, id));
    });
}

function scopesOf(text: string): readonly ApiKeyScope[] {
  const named = text.split(",");
  const known = ApiKeyRecord.scopes.filter((scope) => named.includes(scope));
  if (known.length !== named.length)
    throw new InvalidArgumentError(`one or more of ${ApiKeyRecord.scopes.join(",")}`);
  return known;
}

const unknownStore = (): CliError =>
  new CliError("no store is configured", {
    code: "usage",
    exitCode: ExitCode.usage,
    hint: "set --store or DATABASE_URL",
  });
