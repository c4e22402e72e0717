// The engine of the examples: in this process, or with REEVE_ENGINE=restate on a Restate server. Nothing else changes.
import { basename } from "node:path";
import type { Engine } from "reeve/engine";
import { local } from "reeve/engines/local";

export const engine = process.env["REEVE_ENGINE"] === "restate" ? await onRestate() : local();

async function onRestate(): Promise<Engine> {
  const { restate } = await import("reeve/engines/restate");
  return restate({
    ingress: process.env["REEVE_INGRESS"] ?? "http://127.0.0.1:8080",
    admin: process.env["REEVE_ADMIN"] ?? "http://127.0.0.1:9070",
    namespace: `example-${basename(process.argv[1] ?? "", ".ts")}`, // many programs, one server
  });
}
