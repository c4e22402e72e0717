// Makes a key for the server and shows it, once: node key.ts <tenant> <scope,...> [days=365] [user]
import { createApiKey, type Scope } from "reeve/server";
import { openStore } from "./environment.ts";

const known: readonly Scope[] = ["read", "run", "approve", "admin", "act-for-users"];
const [tenant = "", wanted = "", days = "365", user] = process.argv.slice(2);
const scopes = known.filter((scope) => wanted.split(",").includes(scope));
if (tenant === "" || scopes.length !== wanted.split(",").length)
  throw new TypeError(`node key.ts <tenant> <${known.join(",")}> [days] [user]`);
const expiresAt = Date.now() + Number(days) * 24 * 60 * 60 * 1000;
const { key, record } = createApiKey({ tenant, user, scopes, expiresAt });
await using store = await openStore();
await store.apiKeys.put(record);
process.stdout.write(`${key}\n`);
