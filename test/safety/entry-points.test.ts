import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime } from "reeve";
import { serverApp } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { routes } from "../../src/server/routes.ts";

const rules = ["identity", "scope", "content", "rate and pool", "size", "audit"];

const page = readFileSync("docs/security-requirements.md", "utf8");
const [head = [], , ...rows] = page
  .slice(page.indexOf("## Entry points"))
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );

/** The names in the first cells of the rows. */
const named = new Set(
  rows.flatMap(([first = ""]) => [...first.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name)),
);

/** Returns the names that begin like this. */
const namesFrom = (begin: string): ReadonlySet<string> =>
  new Set([...named].filter((name) => name.startsWith(begin)));

test("each row states a rule of each kind", () => {
  expect(head).toEqual(["entry point", ...rules]);
  const empty = rows.filter((row) => row.length !== head.length || row.includes(""));
  expect(empty.map(([first]) => first)).toEqual(["`src/server/listen.ts`"]);
});

test("each route has a pool with a row, and each path outside the table of routes has a row", async () => {
  const missing = routes.filter(({ pool }) => !named.has(pool));
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  await using runtime = createRuntime({ agents: [], store: memoryStore() });
  const known = new Set(routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`));
  const others = serverApp({ runtime, auth: "none", ui: true })
    .routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !known.has(route));
  expect(new Set(others)).toEqual(namesFrom("GET /"));
});

test("each file of the product that opens a port for others has a row", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("testing"))
    .map((file) => join("src", file));
  // A server that is closed at once looks for a free port; the command that starts Restate does that, too.
  const opening = files.filter((file) => {
    const source = readFileSync(file, "utf8");
    return /from "node:(net|http|http2|https)"/u.test(source) && /\bcreate(Secure)?Server\b/u.test(source);
  });
  const searching = ["src/cli/dev/dev.ts", "src/engines/restate/operations/restate-server.ts"];
  expect(new Set(opening)).toEqual(new Set([...searching, ...namesFrom("src/")]));
});
