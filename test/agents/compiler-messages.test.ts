import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const header = `
import { z } from "zod";
import { tool, type RunScope, type StartOptions } from "${resolve("src/index.ts")}";
export type Used = RunScope | StartOptions;
interface Row { readonly id: number; readonly at: Date }
export const rows: Row[] = [];
const input = z.object({ city: z.string() });
`;

/** The fields of a program's metadata. */
const metadata = `
export {};
declare module "${resolve("src/index.ts")}" {
  interface RequestMetadata { readonly plan: "free" | "pro" }
}
`;

/** Definitions that compile. */
const right: Readonly<Record<string, string>> = {
  "reading metadata whose fields are declared": `(scope: RunScope): "free" | "pro" => scope.metadata.plan`,
  "starting with metadata whose fields are declared": `{ metadata: { plan: "pro" } } satisfies StartOptions`,
  "a tool that returns nothing": `tool({ name: "a", description: "a", input, risk: "safe", execute: ({ city }) => { city.trim(); } })`,
  "a tool that returns a date": `tool({ name: "a", description: "a", input, risk: "safe", execute: async () => new Date(0) })`,
  "a tool that returns rows": `tool({ name: "a", description: "a", input, risk: "safe", execute: async (): Promise<Row[]> => rows })`,
  "a tool that returns a value at once": `tool({ name: "a", description: "a", input, risk: "safe", execute: ({ city }) => city.length })`,
  "a run tool that returns nothing": `tool({ name: "a", description: "a", input, risk: "safe", run: async (ctx, { city }) => { await ctx.emit(city); } })`,
};

/** Mistakes, and the compiler's message for each. */
const wrong: Readonly<Record<string, readonly [code: string, message: RegExp]>> = {
  "metadata has another value than declared": [
    `{ metadata: { plan: "gold" } } satisfies StartOptions`,
    /^Type '"gold"' is not assignable to type '"free" \| "pro"'\.$/m,
  ],
  "risk is missing": [
    `tool({ name: "a", description: "a", input, execute: ({ city }) => city })`,
    /^Property 'risk' is missing in type .* but required in type 'EffectTool<\{ city: string; \}>'\.$/m,
  ],
  "risk is missing from a run tool": [
    `tool({ name: "a", description: "a", input, run: (_ctx, { city }) => city })`,
    /^Property 'risk' is missing in type .* but required in type 'RunTool<\{ city: string; \}>'\.$/m,
  ],
  "risk is not a risk": [
    `tool({ name: "a", description: "a", input, risk: "medium", execute: ({ city }) => city })`,
    /^Type '"medium"' is not assignable to type 'Risk'\.$/m,
  ],
  "the input is used as another type": [
    `tool({ name: "a", description: "a", input, risk: "safe", execute: ({ city }) => city.toFixed() })`,
    /^Property 'toFixed' does not exist on type 'string'\./m,
  ],
  "an option is misspelt": [
    `tool({ name: "a", description: "a", input, risk: "safe", timeout: 5, execute: ({ city }) => city })`,
    /^Object literal may only specify known properties, .*'timeout' does not exist in type/m,
  ],
  "the schema is missing": [
    `tool({ name: "a", description: "a", risk: "safe", execute: () => 1 })`,
    /^Property 'input' is missing in type .* but required in type 'EffectTool<unknown>'\.$/m,
  ],
};

const cache = resolve("node_modules/.cache/reeve");
let folder = "";
/** The messages of the compiler, by file. */
let messages = new Map<string, string>();

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "tool-types-"));
  const programs = [...Object.values(right), ...Object.values(wrong).map(([code]) => code)];
  for (const [index, code] of programs.entries())
    writeFileSync(join(folder, `p${index}.ts`), `${header}export const made = ${code};\n`);
  writeFileSync(join(folder, "metadata.ts"), metadata);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = { rewriteRelativeImportExtensions: false, types: [], rootDir: resolve(".") };
  const config = { extends: resolve("tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  messages = messagesByFile(await compile(folder));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(Object.keys(right).map((name, index) => ({ name, index })))("$name compiles", ({ index }) => {
  expect(messages.get(`p${index}.ts`)).toBeUndefined();
});

test.each(Object.entries(wrong).map(([name, [, message]], index) => ({ name, message, index })))(
  "the compiler reports exactly the mistake: $name",
  ({ message, index }) => {
    const said = messages.get(`p${Object.keys(right).length + index}.ts`) ?? "";
    expect(said).toMatch(message);
    expect(said).not.toContain("overload");
    expect(said.match(/error TS/g)).toHaveLength(1);
  },
);

function compile(project: string): Promise<string> {
  const args = ["node_modules/typescript/bin/tsc", "--noEmit", "--pretty", "false", "-p", project];
  return new Promise((done) => {
    execFile(process.execPath, args, (_error, stdout) => done(stdout));
  });
}

/** Splits the compiler's output: a line with a place begins a message, indented lines go on. */
function messagesByFile(output: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of output.split(/\n(?=\S)/)) {
    const [, file = "", text = ""] = /([^/(]+)\(\d+,\d+\): ([\s\S]*)/.exec(part) ?? [];
    const lines = text.replace(/^(error TS\d+): /, "$1\n").replaceAll(/^ +/gm, "");
    found.set(file, `${found.get(file) ?? ""}${lines}\n`);
  }
  return found;
}
