import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** What each layer, or adapter, may import from outside itself. Everything else is forbidden. */
const allowed: Record<string, readonly string[]> = {
  kernel: ["@standard-schema/spec"], // types only
  ledger: ["#kernel"],
  models: ["#kernel", "@ai-sdk/provider", "@pydantic/genai-prices", "tokenx"], // the AI SDK: types only
  agents: ["#kernel", "#ledger", "#models", "@standard-schema/spec"],
  runtime: [
    "#kernel",
    "#ledger",
    "#models",
    "#agents",
    "#sealing",
    "node:async_hooks",
    "node:crypto",
    "node:events",
    "node:http",
  ],
  govern: ["#kernel", "#ledger", "#models", "@ai-sdk/provider", "node:async_hooks", "node:crypto"],
  sealing: ["#kernel", "node:crypto", "node:fs/promises", "node:path"],
  "engines/local": ["#kernel", "#ledger", "#runtime", "node:crypto", "node:process"],
  "engines/restate": [
    "#kernel",
    "#ledger",
    "#runtime",
    "#sealing",
    "@restatedev/restate-sdk",
    "node:child_process",
    "node:crypto",
    "node:events",
    "node:fs",
    "node:fs/promises",
    "node:http",
    "node:http2",
    "node:module",
    "node:net",
    "node:os",
    "node:path",
    "node:timers/promises",
  ],
  "stores/memory": ["#kernel"],
  "stores/sqlite": ["#kernel", "#stores/sql", "kysely", "node:sqlite"],
  "stores/sql": ["#kernel", "kysely"],
  "stores/postgres": ["#kernel", "#stores/sql", "kysely", "pg"],
  telemetry: ["#kernel", "@opentelemetry/api", "node:crypto"],
  cli: [
    "#kernel",
    "#runtime",
    "#server",
    "#engines/restate",
    "#stores/sqlite",
    "commander",
    "node:child_process",
    "node:events",
    "node:fs",
    "node:fs/promises",
    "node:http",
    "node:net",
    "node:path",
    "node:stream",
    "node:timers/promises",
    "node:url",
    "node:util",
  ],
  server: [
    "#kernel",
    "#runtime",
    "hono",
    "node:crypto",
    "node:events",
    "node:http",
    "node:stream",
    "node:stream/web",
  ],
  testing: [
    "#kernel",
    "#ledger",
    "#models",
    "#agents",
    "#runtime",
    "#engines/local",
    "#stores/memory",
    "node:assert/strict",
    "node:crypto",
    "node:fs",
    "node:http",
    "node:net",
    "node:stream",
    "node:timers/promises",
  ],
};

const statement = /^(?:import|export)(?: type)? (?:\{[^}]*\}|\* as \w+|\*) from "([^"]+)";$/gm;

const imports = globSync("src/*/**/*.ts").flatMap((path) => {
  const file = path.replace("src/", "");
  const owner = Object.keys(allowed).find((name) => file.startsWith(`${name}/`)) ?? file;
  const inside = file.slice(owner.length + 1);
  const targets = readFileSync(path, "utf8").matchAll(statement);
  return [...targets].map(([, target = ""]) => ({ file, owner, inside, target }));
});

test("each layer imports only what it may", () => {
  const broken = imports.filter(({ owner, inside, target }) =>
    target.startsWith(".")
      ? target.split("../").length > inside.split("/").length
      : !allowed[owner]?.includes(target),
  );
  expect(broken.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test("the table names every layer", () => {
  expect(new Set(imports.map(({ owner }) => owner))).toEqual(new Set(Object.keys(allowed)));
});

test("the kernel imports types only", () => {
  const broken = globSync("src/kernel/**/*.ts").filter((path) =>
    /import (?!type)[^;]*"@/.test(readFileSync(path, "utf8")),
  );
  expect(broken).toEqual([]);
});
