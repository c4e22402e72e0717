import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { countFloors, findCycles, readImports } from "./import-graph.ts";
import { Program } from "./program.ts";
import { findIdeas } from "./repeated-ideas.ts";
import { followValue } from "./value-path.ts";

const sources: Readonly<Record<string, string>> = {
  "tsconfig.build.json": JSON.stringify({
    compilerOptions: { module: "nodenext", target: "es2024", noEmit: true, allowImportingTsExtensions: true },
    include: ["src"],
  }),
  "package.json": JSON.stringify({ type: "module" }),
  "src/run/call.ts": `
    import { check } from "./check.ts";
    import { later, execute } from "./execute.ts";
    export function call(name: string, input: unknown) {
      const wanted = { name, input };
      const { value } = check(wanted);
      const size = JSON.stringify(input).length;
      log(size);
      return later(() => execute({ ...wanted, input: value }));
    }
    function log(size: number) {}
  `,
  "src/run/check.ts": `
    export function check({ name, input }: { name: string; input: unknown }) {
      note(name);
      return { name, value: input };
    }
    function note(name: string) {}
  `,
  "src/run/execute.ts": `
    export const later = <Result>(act: () => Result): Result => act();
    export function execute({ input }: { input: unknown }) { return input; }
  `,
  "src/cycle/one.ts": `import type { Two } from "./two.ts"; export type One = Two;`,
  "src/cycle/two.ts": `import type { One } from "./one.ts"; export type Two = One | 1;`,
  "src/ideas.ts": `
    const kept = new Map<string, number>();
    export function keep(key: string) {
      kept.set(key, 1);
      for (const oldest of kept.keys()) { if (kept.size <= 10) break; kept.delete(oldest); }
    }
    export const nextMs = (pauseMs: number) => Math.min(1_000, 2 * pauseMs);
    export const delay = (base: number, tries: number) => base * 2 ** tries;
    export const timed = (act: () => void, timeoutMs: number) => setTimeout(act, timeoutMs);
    export function freeze(value: object) { Object.values(value).forEach((one) => freeze(one)); Object.freeze(value); }
    export const text = (error: unknown) => (error instanceof Error ? error.message : String(error));
  `,
  "src/none.ts": `
    const open = new Map<string, number>();
    export function close() { for (const key of open.keys()) if (open.size > 0) open.delete(key); }
    export const area = (width: number, height: number) => Math.min(100, width * height);
    export const beat = (act: () => void, everyMs: number) => setTimeout(act, everyMs);
    export const shallow = (value: object) => Object.freeze(value);
    export const name = (error: unknown) => (error instanceof Error ? error.name : typeof error);
  `,
};

const root = mkdtempSync(join(tmpdir(), "reeve-structure-"));
let program: Program;

beforeAll(() => {
  for (const [path, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  program = new Program(root);
});

afterAll(() => {
  program[Symbol.dispose]();
  rmSync(root, { recursive: true });
});

test("import levels are counted among the files of a folder", () => {
  const graph = readImports(program);
  expect(countFloors(graph, program.in("run"))).toBe(2);
  expect(countFloors(graph, ["run/call.ts"])).toBe(1);
});

test("files that import each other's types are a cycle", () => {
  expect(findCycles(readImports(program))).toEqual([["cycle/one.ts", "cycle/two.ts"]]);
});

test("a value is followed through objects, results and closures, and not through computations", () => {
  const { stays, files, returns } = followValue(program, {
    function: "call",
    parameter: "input",
    ignoredFolders: [],
    ignoredFunctions: [],
  });
  const [call, check, execute] = ["run/call.ts", "run/check.ts", "run/execute.ts"];
  expect(stays).toEqual([call, check, execute, call, execute]);
  expect([files, returns]).toEqual([3, 2]);
});

test("each repeated pattern is found by its form, and no other code is reported", () => {
  const found = findIdeas(program, program.in(""));
  expect(Object.fromEntries(found)).toEqual({
    lru: ["ideas.ts"],
    backoff: ["ideas.ts"],
    timeout: ["ideas.ts"],
    freeze: ["ideas.ts"],
    errorText: ["ideas.ts"],
  });
});
