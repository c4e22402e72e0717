// Makes a key for the server and shows it, once: node key.ts <tenant> <scope,...> [days=365]
import { createApiKey, type Scope } from "reeve/server";
import { openStore } from "./environment.ts";

const known: readonly Scope[] = ["read", "run", "approve", "admin"];
const [tenant = "", wanted = "", days = "365"] = process.argv.slice(2);
const scopes = known.filter((scope) => wanted.split(",").includes(scope));
if (tenant === "" || scopes.length !== wanted.split(",").length)
  throw new TypeError(`node key.ts <tenant> <${known.join(",")}> [days]`);
const expiresAt = Date.now() + Number(days) * 24 * 60 * 60 * 1000;
const { key, record } = createApiKey({ tenant, scopes, expiresAt });
await using store = await openStore();
await store.apiKeys.put(record);
process.stdout.write(`${key}\n`);
