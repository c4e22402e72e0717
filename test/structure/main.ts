import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { countFloors, findCycles, readImports } from "./import-graph.ts";
import { isFunction, Program, walk } from "./program.ts";
import { findIdeas } from "./repeated-ideas.ts";
import { followValue } from "./value-path.ts";

/*
 * Counts how the source is structured: `npm run count:structure`. Folders are arguments, so that counts are comparable
 * after files move. `--list` also prints what was counted, `--root` takes another checkout.
 */

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "." },
    /** The folder of what users hold. */
    runtime: { type: "string", default: "runtime" },
    /** The folder of the code that executes runs. Default: `run` or `runtime/run`. */
    run: { type: "string" },
    /** Folders below it that are not counted. */
    without: { type: "string", multiple: true, default: ["run/driver"] },
    /** The parameter that is followed, and the functions that are not. */
    follow: { type: "string", default: "callTool:input" },
    ignore: { type: "string", multiple: true, default: ["runTool"] },
    list: { type: "boolean", default: false },
  },
});

const maxPositional = 3;
const [follow = "", parameter = ""] = options.follow.split(":");

using program = new Program(resolve(options.root));
const product = program.in("", ["testing"]);
const runtime = program.in(options.runtime);
const runFolder =
  options.run ?? ["run", "runtime/run"].find((folder) => program.in(folder).length > 0) ?? "run";
const run = program.in(runFolder, options.without);
const graph = readImports(program);
const cycles = findCycles(graph);
const ideas = findIdeas(program, product);
const path = followValue(program, {
  function: follow,
  parameter,
  ignoredFolders: ["kernel"],
  ignoredFunctions: options.ignore,
});
const long = product.flatMap(findLongSignatures);

const rows: readonly (readonly [string, string | number, readonly string[]])[] = [
  [`lines of ${options.runtime}/`, runtime.reduce((sum, file) => sum + countLines(file), 0), runtime],
  [`files of ${runFolder}/`, run.length, run],
  [`floors of ${runFolder}/`, countFloors(graph, run), []],
  [`stays of ${options.follow}`, `${path.stays.length} in ${path.files} files`, path.stays],
  [`returns of ${options.follow}`, path.returns, []],
  ...[...ideas].map(([idea, where]) => [`files with ${idea}`, where.length, where] as const),
  [`functions with more than ${maxPositional} positional parameters`, long.length, long],
  ["import cycles", cycles.length, cycles.map((files) => files.join(" "))],
];

for (const [what, count, found] of rows) {
  process.stdout.write(`${what.padEnd(52)} ${count}\n`);
  if (options.list) for (const one of found) process.stdout.write(`    ${one}\n`);
}

function countLines(file: string): number {
  return (program.files.get(file)?.text.split("\n").length ?? 1) - 1;
}

function findLongSignatures(file: string): readonly string[] {
  const found: string[] = [];
  const source = program.files.get(file);
  if (source)
    walk(source, (node) => {
      if (isFunction(node) && node.parameters.length > maxPositional)
        found.push(`${file}: ${node.name?.getText() ?? "a closure"}`);
    });
  return found;
}
