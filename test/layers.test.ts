import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Imports that each layer or adapter may have from outside itself. Everything else is forbidden. */
const allowed: Record<string, readonly string[]> = {
  kernel: ["@standard-schema/spec"], // types only
  base: ["#kernel"],
  ledger: ["#kernel"],
  models: ["#kernel", "#base", "@ai-sdk/provider", "@pydantic/genai-prices", "tokenx"], // the AI SDK: types only
  agents: ["#kernel", "#base", "#models", "@standard-schema/spec"],
  audit: ["#kernel", "#base", "#sealing", "node:crypto"],
  deltas: ["#kernel", "#base", "node:crypto", "node:events", "node:http"],
  net: [
    "#kernel",
    "#base",
    "node:dns/promises",
    "node:http",
    "node:https",
    "node:net",
    "node:stream",
    "node:zlib",
  ],
  tree: ["#kernel", "#base", "#ledger", "#audit", "croner", "node:crypto"],
  webhooks: ["#kernel", "#base", "#net", "node:crypto"],
  run: [
    "#kernel",
    "#base",
    "#ledger",
    "#models",
    "#agents",
    "#deltas",
    "#tree",
    "node:async_hooks",
    "node:crypto",
  ],
  runtime: [
    "#kernel",
    "#base",
    "#ledger",
    "#agents",
    "#sealing",
    "#audit",
    "#deltas",
    "#tree",
    "#run",
    "#webhooks",
    "node:crypto",
  ],
  govern: ["#kernel", "#base", "#ledger", "#models", "@ai-sdk/provider", "node:async_hooks", "node:crypto"],
  sealing: ["#kernel", "#base", "node:crypto", "node:fs/promises", "node:path"],
  "engines/local": ["#kernel", "#base", "node:crypto", "node:process"],
  "engines/restate": [
    "#kernel",
    "#base",
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
  "stores/memory": ["#kernel", "#base"],
  "stores/sqlite": ["#kernel", "#base", "#stores/sql", "kysely", "node:fs", "node:sqlite"],
  "stores/sqlite-vec": ["#kernel", "#base", "node:fs", "node:sqlite", "sqlite-vec"],
  "stores/sql": ["#kernel", "kysely"],
  "stores/postgres": ["#kernel", "#base", "#stores/sql", "kysely", "pg"],
  browser: ["#kernel", "#agents", "#run", "@standard-schema/spec", "playwright-core"],
  mcp: [
    "#kernel",
    "#base",
    "#agents",
    "#net",
    "#runtime", // types only
    "#server", // types only
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
    "@standard-schema/spec",
    "node:crypto",
    "node:fs",
  ],
  a2a: [
    "#kernel",
    "#base",
    "#runtime", // types only
    "#server", // types only
    "@a2a-js/sdk",
    "@a2a-js/sdk/compat/v0_3/server",
    "@a2a-js/sdk/errors",
    "@a2a-js/sdk/server",
    "node:crypto",
  ],
  architectures: ["#kernel", "#agents", "@standard-schema/spec"],
  flows: ["#kernel", "#base"],
  profile: [
    "#kernel",
    "#agents",
    "@standard-schema/spec",
    "node:crypto",
    "node:fs",
    "node:fs/promises",
    "node:path",
    "node:url",
  ],
  tools: [
    "#kernel",
    "#agents",
    "#net",
    "@standard-schema/spec",
    "node:child_process",
    "node:crypto",
    "node:fs",
    "node:fs/promises",
    "node:path",
  ],
  telemetry: ["#kernel", "#base", "@opentelemetry/api", "node:crypto"],
  client: ["#kernel", "#runtime"], // the runtime: types only
  cli: [
    "#kernel",
    "#client",
    "#mcp",
    "#base",
    "#runtime",
    "#server",
    "#view",
    "#engines/restate",
    "#stores/postgres",
    "#stores/sqlite",
    "commander",
    "node:child_process",
    "node:crypto",
    "node:events",
    "node:fs",
    "node:fs/promises",
    "node:http",
    "node:module",
    "node:net",
    "node:path",
    "node:readline",
    "node:stream",
    "node:timers/promises",
    "node:url",
    "node:util",
  ],
  view: ["#kernel", "#base"], // nothing of Node: it also runs in browsers
  server: [
    "#kernel",
    "#base",
    "#runtime",
    "#view",
    "hono",
    "node:crypto",
    "node:events",
    "node:fs",
    "node:http",
    "node:path",
    "node:stream",
    "node:stream/web",
    "node:url",
    "node:util",
    "node:zlib",
  ],
  testing: [
    "#kernel",
    "#base",
    "#ledger",
    "#models",
    "#agents",
    "#architectures",
    "#flows",
    "#runtime",
    "#engines/local",
    "#stores/memory",
    "@standard-schema/spec",
    "node:assert/strict",
    "node:crypto",
    "node:fs",
    "node:http",
    "node:net",
    "node:stream",
    "node:timers/promises",
    "node:worker_threads",
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

test("each layer imports only allowed layers", () => {
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

test("the page imports its own files, the view and its libraries", () => {
  const libraries = new Set([
    "#view",
    "@tanstack/react-query",
    "diff",
    "marked",
    "react",
    "react-dom/client",
    "wouter",
  ]);
  const broken = globSync("ui/**/*.{ts,tsx}")
    .filter((path) => path !== "ui/build.ts")
    .flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(statement)].map(([, target = ""]) => ({ path, target })),
    )
    .filter(({ path, target }) =>
      target.startsWith(".")
        ? target.split("../").length > path.split("/").length - 1
        : !libraries.has(target),
    );
  expect(broken).toEqual([]);
});
