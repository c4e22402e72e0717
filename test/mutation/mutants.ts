import { nodeAt, parse, walk, type SyntaxNode } from "./syntax.ts";

/** A change of one place of the source. */
export interface Mutant {
  /** File, line, column and kind: unique within a part. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly was: string;
  readonly becomes: string;
}

interface Change {
  readonly kind: string;
  readonly node: SyntaxNode;
  readonly becomes: string;
}

/** Returns every mutant of a file. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const changes: Change[] = [];
  walk(parse(source), (node, ancestors) => changes.push(...changesOf(source, node, ancestors)));
  const mutants = new Map<string, Mutant>();
  for (const { kind, node, becomes } of changes) {
    const before = source.slice(0, node.start).split("\n");
    const place = `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
    const was = source.slice(node.start, node.end);
    const id = `${place} ${kind}`;
    const mutant = { id, file, line: before.length, start: node.start, end: node.end, was, becomes };
    if (was !== becomes && isProgram(apply(source, mutant))) mutants.set(id, mutant);
  }
  return [...mutants.values()];
}

/** Returns the source with the change of a mutant. */
export function apply(source: string, { start, end, becomes }: Mutant): string {
  return source.slice(0, start) + becomes + source.slice(end);
}

function isProgram(source: string): boolean {
  try {
    parse(source);
    return true;
  } catch {
    return false;
  }
}

function changesOf(source: string, node: SyntaxNode, ancestors: readonly SyntaxNode[]): readonly Change[] {
  const text = (of: SyntaxNode): string => source.slice(of.start, of.end);
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
    case "DoWhileStatement":
      return conditions(node);
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return operators(node, text);
    case "UnaryExpression": {
      const operand = nodeAt(node, "argument");
      return node["operator"] === "!" && operand
        ? [{ kind: "drop not", node, becomes: `(${text(operand)})` }]
        : [];
    }
    case "Literal":
      return isProse(ancestors) ? [] : literals(node);
    case "ExpressionStatement":
      return isDirective(node) ? [] : [{ kind: "drop statement", node, becomes: ";" }];
    case "ThrowStatement":
      return [{ kind: "drop throw", node, becomes: ";" }];
    case "ReturnStatement":
      return ancestors[1]?.type === "IfStatement" ? [{ kind: "drop return", node, becomes: ";" }] : [];
    case "CallExpression":
      return calls(node, text);
    default:
      return [];
  }
}

function conditions(node: SyntaxNode): readonly Change[] {
  const test = nodeAt(node, "test");
  if (!test) return [];
  const never = { kind: "never", node: test, becomes: "false" };
  // A loop without an end proves nothing.
  return node.type.endsWith("WhileStatement")
    ? [never]
    : [never, { ...never, kind: "always", becomes: "true" }];
}

const swapped: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "||=": ["="],
  "??=": ["="],
};

function operators(node: SyntaxNode, text: (of: SyntaxNode) => string): readonly Change[] {
  const left = nodeAt(node, "left");
  const right = nodeAt(node, "right");
  const operator = String(node["operator"]);
  if (!left || !right) return [];
  if (operator === "??")
    return [
      { kind: "drop default", node, becomes: `(${text(left)})` },
      { kind: "only default", node, becomes: `(${text(right)})` },
    ];
  const isText = [left, right].some((side) => side.type === "TemplateLiteral" || isString(side));
  if (isText && operator === "+") return [];
  return (swapped[operator] ?? []).map((other) => ({
    kind: `${operator} to ${other}`,
    node,
    becomes: `${text(left)} ${other} ${text(right)}`,
  }));
}

const isString = (node: SyntaxNode): boolean => node.type === "Literal" && typeof node["value"] === "string";

function isDirective(node: SyntaxNode): boolean {
  const expression = nodeAt(node, "expression");
  return expression !== null && isString(expression);
}

/** Messages, names of properties and of modules: changing them breaks no rule. */
function isProse([parent, grandparent]: readonly SyntaxNode[]): boolean {
  if (!parent || parent.type === "ThrowStatement" || parent.type === "NewExpression") return true;
  if (parent.type === "ExportNamedDeclaration" || parent.type === "MemberExpression") return true;
  const isMessage = parent.type === "Property" && nameOf(nodeAt(parent, "key")) === "message";
  return isMessage || (parent.type === "Property" && grandparent?.type === "ObjectPattern");
}

function nameOf(node: SyntaxNode | null): string {
  const name = node?.["name"] ?? node?.["value"];
  return typeof name === "string" ? name : "";
}

function literals(node: SyntaxNode): readonly Change[] {
  const value = node["value"];
  if (typeof value === "boolean") return [{ kind: "flip", node, becomes: String(!value) }];
  // A boundary of few, or a limit of many: one more of a thousand is not another rule.
  if (typeof value === "number")
    return [{ kind: "number", node, becomes: String(value < 10 ? value + 1 : value * 10) }];
  return typeof value === "string" && value !== "" ? [{ kind: "text", node, becomes: '"mutated"' }] : [];
}

/** Calls on a list or of `Math` that have an opposite, or can be left out. */
const callSwaps: Readonly<Record<string, string | null>> = {
  filter: null,
  toSorted: null,
  toReversed: null,
  slice: null,
  some: "every",
  every: "some",
  max: "min",
  min: "max",
};

function calls(node: SyntaxNode, text: (of: SyntaxNode) => string): readonly Change[] {
  const callee = nodeAt(node, "callee");
  const object = callee?.type === "MemberExpression" ? nodeAt(callee, "object") : null;
  const property = callee && nodeAt(callee, "property");
  if (!object || !property) return [];
  const name = nameOf(property);
  const swap = callSwaps[name];
  if (swap === undefined || (swap?.startsWith("m") && text(object) !== "Math")) return [];
  if (swap === null) return [{ kind: `drop ${name}`, node, becomes: text(object) }];
  return [{ kind: `${name} to ${swap}`, node: property, becomes: swap }];
}
