import { inspect } from "node:util";
import { createRuntime } from "reeve";
import { restate } from "reeve/engines/restate";
import { apiKeys, listen } from "reeve/server";
import { writer } from "./agents.ts";
import { number, openStore, restateAt, setting } from "./environment.ts";

const store = await openStore();
const runtime = createRuntime({ agents: [writer], engine: restate(restateAt()), store });
const server = await listen({
  runtime,
  hostname: process.env["HOST"] ?? "127.0.0.1",
  port: number("PORT", 3000),
  hosts: setting("HOSTS").split(","),
  auth: apiKeys(store.apiKeys),
  onError: (error, noted) => process.stderr.write(`${noted} ${inspect(error)}\n`),
});
process.once("SIGTERM", () => void server[Symbol.asyncDispose]().then(() => process.exit()));
