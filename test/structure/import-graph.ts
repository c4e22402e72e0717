import { dirname, join } from "node:path";
import { isExportDeclaration, isImportDeclaration, isStringLiteral } from "typescript/unstable/ast/is";
import type { Program } from "./program.ts";

/** The files that each file imports, types included. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Reads who imports whom. `#layer` is the index of that layer. */
export function readImports(program: Program): ImportGraph {
  const graph = new Map<string, readonly string[]>();
  for (const [path, file] of program.files) {
    const targets = file.statements.flatMap((statement) => {
      if (!isImportDeclaration(statement) && !isExportDeclaration(statement)) return [];
      const { moduleSpecifier } = statement;
      if (!moduleSpecifier || !isStringLiteral(moduleSpecifier)) return [];
      const { text } = moduleSpecifier;
      const target = text.startsWith("#") ? `${text.slice(1)}/index.ts` : join(dirname(path), text);
      return program.files.has(target) ? [target] : [];
    });
    graph.set(path, [...new Set(targets)]);
  }
  return graph;
}

/**
 * Returns the number of levels if each file is above all files of the same set that it imports. A file without such
 * imports is on the first level.
 */
export function countFloors(graph: ImportGraph, files: readonly string[]): number {
  const among = new Set(files);
  const floors = new Map<string, number>();
  const floorOf = (file: string): number => {
    const known = floors.get(file);
    if (known !== undefined) return known;
    // In a cycle there is no lowest file. Cycles are counted elsewhere.
    floors.set(file, 1);
    const below = (graph.get(file) ?? []).filter((target) => among.has(target)).map(floorOf);
    const floor = Math.max(0, ...below) + 1;
    floors.set(file, floor);
    return floor;
  };
  return Math.max(0, ...files.map(floorOf));
}

/** Finds the groups of files that import each other, directly or not. */
export function findCycles(graph: ImportGraph): readonly (readonly string[])[] {
  const reach = new Map<string, ReadonlySet<string>>();
  for (const file of graph.keys()) {
    const found = new Set<string>();
    const open = [...(graph.get(file) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    reach.set(file, found);
  }
  const groups = new Map<string, readonly string[]>();
  for (const [file, found] of reach) {
    if (!found.has(file)) continue;
    const group = [...found].filter((other) => reach.get(other)?.has(file)).toSorted();
    groups.set(group.join(), group);
  }
  return [...groups.values()];
}
