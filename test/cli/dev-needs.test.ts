import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadWithPackages } from "../../src/base/index.ts";
import { CliError } from "../../src/cli/cli-error.ts";
import { devEnvironment } from "../../src/cli/dev/dev-environment.ts";
import { checkDevNeeds } from "../../src/cli/dev/dev-needs.ts";
import { missingImportsText } from "../../src/cli/dev/missing-imports.ts";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

/** Returns the message about a machine, and the hint. */
function messageAbout(machine: string, missing: readonly string[] = []): readonly (string | null)[] {
  try {
    checkDevNeeds(machine, (name) => !missing.includes(name));
  } catch (error) {
    if (error instanceof CliError) return [error.message, error.hint];
    throw error;
  }
  return [];
}

test("one line names all packages that reeve dev misses, and the command that installs them", () => {
  expect(messageAbout("linux-x64", ["hono"])).toEqual([
    "reeve dev needs hono, which is not installed",
    "npm install hono",
  ]);
  const all = ["@restatedev/restate-sdk", "@restatedev/restate-server", "hono", "kysely"];
  expect(messageAbout("linux-x64", all)).toEqual([
    "reeve dev needs @restatedev/restate-sdk, @restatedev/restate-server, hono and kysely, which are not installed",
    "npm install @restatedev/restate-sdk @restatedev/restate-server hono kysely",
  ]);
});

test.each(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"])("reeve dev runs on %s", (machine) => {
  expect(messageAbout(machine)).toEqual([]);
});

test("Windows gets the list of features that need WSL, another system gets the way to continue", () => {
  const built = "reeve dev starts a Restate server, which is built for Linux and macOS on x64 and arm64";
  expect(messageAbout("win32-x64", ["hono"])).toEqual([
    `${built}; this is win32-x64`,
    "run it in WSL (wsl --install); client commands and programs without Restate need no WSL",
  ]);
  expect(messageAbout("freebsd-x64")).toEqual([
    `${built}; this is freebsd-x64`,
    "run it on another machine, and set --url or REEVE_URL",
  ]);
});

test("installed packages are found", () => {
  expect(() => checkDevNeeds("linux-x64")).not.toThrow();
});

test("an error for a module lists all its missing packages; another failure is unchanged", async () => {
  const gone = Object.assign(new Error("Cannot find package 'kysely'"), { code: "ERR_MODULE_NOT_FOUND" });
  const packages = {
    kysely: () => Promise.reject(gone),
    pg: () => Promise.reject(gone),
    zod: async () => ({}),
  };
  const load = (error: Error) =>
    loadWithPackages("reeve/stores/postgres", packages, async () => {
      throw error;
    });
  await expect(load(gone)).rejects.toThrow(
    "reeve/stores/postgres needs kysely and pg, which are not installed: npm install kysely pg",
  );
  await expect(load(new Error("the disk is full"))).rejects.toThrow("the disk is full");
});

test("an error for a project's file lists every missing package", () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-imports-"));
  try {
    const file = join(folder, "agents.ts");
    mkdirSync(join(folder, "node_modules/zod"), { recursive: true });
    writeFileSync(
      file,
      `import { openai } from "@ai-sdk/openai";
import { readFileSync } from "node:fs";
import { z } from 'zod';
import { own } from "./own.ts";
const { parse } = await import("yaml/parse");
`,
    );
    const error = new Error(`Cannot find package '@ai-sdk/openai' imported from ${file}`);
    const text =
      "agents.ts needs @ai-sdk/openai and yaml, which are not installed: npm install @ai-sdk/openai yaml";
    expect(missingImportsText(error, file)).toBe(text);
    const onBun = new Error(`Cannot find package '@ai-sdk/openai' from '${file}'`);
    expect(missingImportsText(onBun, file)).toBe(text);
    const inside = new Error(
      `Cannot find package 'hono' imported from ${folder}/node_modules/reeve/dist/app.js`,
    );
    expect(missingImportsText(inside, join(folder, "none.ts"))).toBe(
      "none.ts needs hono, which is not installed: npm install hono",
    );
    expect(missingImportsText(new Error("Cannot find module './own.ts'"), file)).toBeNull();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("workers get the variables of .env, except variables already set", () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-env-"));
  try {
    expect(devEnvironment(folder, { HOME: "/home/ada" })).toEqual({ HOME: "/home/ada" });
    writeFileSync(join(folder, ".env"), 'ANTHROPIC_API_KEY="sk-1" # mine\nHOME=/elsewhere\n');
    expect(devEnvironment(folder, { HOME: "/home/ada" })).toEqual({
      ANTHROPIC_API_KEY: "sk-1",
      HOME: "/home/ada",
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("runs are not moved where no Restate is known, or none answers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-move-"));
  try {
    const terminal = new FakeTerminal({ folder });
    expect(await main(["move", "one"], terminal)).toBe(3);
    expect(terminal.complained).toBe(
      "reeve: no address of Restate's admin is set\n  → set --admin or RESTATE_ADMIN to the address of Restate's admin\n",
    );
    const elsewhere = new FakeTerminal({ folder, environment: { RESTATE_ADMIN: "http://127.0.0.1:9" } });
    expect(await main(["move", "one"], elsewhere)).toBe(3);
    expect(elsewhere.complained).toContain("no Restate answers at http://127.0.0.1:9\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
