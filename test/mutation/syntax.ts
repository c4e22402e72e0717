import { parseAst } from "vitest/node";

/** A node of a syntax tree, with its place in the source. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Returns the field of a node if it is a node. */
export function nodeAt(node: SyntaxNode, field: string): SyntaxNode | null {
  const value = node[field];
  return isNode(value) ? value : null;
}

/** Parses TypeScript. @throws where it is not a program. */
export function parse(source: string): SyntaxNode {
  const program: unknown = parseAst(source, { lang: "ts" });
  if (!isNode(program)) throw new TypeError("no syntax tree");
  return program;
}

/** Parts of a program without effect at run time. */
const silent = /^TS(?!AsExpression|SatisfiesExpression|NonNullExpression)|^Import|^ExportAll/;

/** Visits every node that has a meaning at run time, each with its ancestors, nearest first. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
  ancestors: readonly SyntaxNode[] = [],
): void {
  if (silent.test(node.type)) return;
  visit(node, ancestors);
  const below = [node, ...ancestors];
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit, below);
  }
}
