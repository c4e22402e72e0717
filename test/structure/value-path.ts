import type { CallExpression, Node } from "typescript/unstable/ast";
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isConditionalExpression,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isObjectBindingPattern,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isReturnStatement,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isTypeNode,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { isFunction, type FunctionNode, type Program } from "./program.ts";

/*
 * The way of one value through the files of the program, from a parameter of a function to every function that is
 * given it. Calls are followed in the order of the source, into the functions that are called.
 *
 * 1. The value is followed through variables, fields, spreads, conditions, `await`, and results of functions. What is
 *    computed from it is another value.
 * 2. A function is entered once for each way in which it is given the value: alone, or in these fields of an object.
 * 3. A closure that uses the value visits the function to which it is handed; then its own body is followed.
 * 4. The ignored folders and functions are not entered.
 */

/** The way of a value through files. */
export interface ValuePath {
  /** The file of each visit, in order. A visit lasts until the value is passed to a function of another file. */
  readonly stays: readonly string[];
  readonly files: number;
  /** Visits to a file that the value had left. */
  readonly returns: number;
}

/** The parameter that is followed. */
export interface ValueStart {
  readonly function: string;
  readonly parameter: string;
  readonly ignoredFolders: readonly string[];
  readonly ignoredFunctions: readonly string[];
}

/** The way an expression holds the value: as itself, or in fields. */
interface Held {
  readonly itself: boolean;
  readonly fields: ReadonlyMap<string, Held>;
}

type Result = { held: Held | null };

/** Functions that return their argument. */
const passing = new Set(["Promise.resolve", "Object.freeze", "Json.of", "Json.as"]);
const promiseMethods = new Set(["then", "catch", "finally"]);
const either = new Set(["??", "||", "&&"]);

/** Follows a parameter. @throws unless exactly one function has that name. */
export function followValue(program: Program, start: ValueStart): ValuePath {
  const found: FunctionNode[] = [];
  for (const file of program.files.values()) {
    for (const statement of file.statements)
      if (isFunctionDeclaration(statement) && statement.name?.text === start.function) found.push(statement);
  }
  const [first] = found;
  if (!first || found.length > 1) throw new Error(`${found.length} functions are called ${start.function}`);
  return new Follower(program, start).follow(first);
}

class Follower {
  readonly #program: Program;
  readonly #start: ValueStart;
  /** By the id of the variable. */
  readonly #variables = new Map<number, Held>();
  /** By how the value was passed. */
  readonly #entered = new Map<Node, Map<string, Result>>();
  readonly #visited = new Set<Node>();
  readonly #trail: string[] = [];
  #returned: (Held | null)[] = [];

  constructor(program: Program, start: ValueStart) {
    this.#program = program;
    this.#start = start;
  }

  follow(first: FunctionNode): ValuePath {
    const value: Held = { itself: true, fields: new Map() };
    const { parameter } = this.#start;
    this.#enter(
      first,
      first.parameters.map(({ name }) => (name.getText() === parameter ? value : null)),
    );
    const stays = this.#trail.filter((file, index) => file !== this.#trail[index - 1]);
    const files = new Set(stays).size;
    return { stays, files, returns: stays.length - files };
  }

  /**
   * Follows a function, unless it was passed the value in the same way before. Returns how its result holds the value.
   */
  #enter(node: FunctionNode, given: readonly (Held | null)[]): Held | null {
    const known = this.#entered.get(node) ?? new Map<string, Result>();
    this.#entered.set(node, known);
    const key = given.map(describe).join();
    const before = known.get(key);
    if (before || !node.body) return before?.held ?? null;
    const result: Result = { held: null };
    known.set(key, result);
    this.#trail.push(this.#program.pathOf(node) ?? "");
    for (const [index, { name }] of node.parameters.entries()) this.#bind(name, given[index] ?? null);
    const outer = this.#returned;
    this.#returned = [];
    const value = this.#evaluate(node.body);
    result.held = union([...this.#returned, value]);
    this.#returned = outer;
    return result.held;
  }

  #evaluate(node: Node): Held | null {
    if (isTypeNode(node) || isArrowFunction(node) || isFunctionExpression(node)) return null;
    if (isIdentifier(node)) return this.#lookUp(node);
    if (isParenthesizedExpression(node) || isAwaitExpression(node) || isAsExpression(node))
      return this.#evaluate(node.expression);
    if (isPropertyAccessExpression(node)) return fieldOf(this.#evaluate(node.expression), node.name.text);
    if (isObjectLiteralExpression(node)) return this.#evaluateObject(node.properties);
    if (isArrayLiteralExpression(node)) return union(node.elements.map((element) => this.#evaluate(element)));
    if (isConditionalExpression(node)) {
      this.#evaluate(node.condition);
      return union([this.#evaluate(node.whenTrue), this.#evaluate(node.whenFalse)]);
    }
    if (isBinaryExpression(node))
      return this.#evaluateBinary(node.left, node.operatorToken.getText(), node.right);
    if (isCallExpression(node)) return this.#call(node);
    if (isVariableDeclaration(node))
      this.#bind(node.name, node.initializer ? this.#evaluate(node.initializer) : null);
    else if (isReturnStatement(node))
      this.#returned.push(node.expression ? this.#evaluate(node.expression) : null);
    else node.forEachChild((child) => void this.#evaluate(child));
    return null;
  }

  #evaluateBinary(left: Node, operator: string, right: Node): Held | null {
    const held = this.#evaluate(right);
    if (operator === "=") this.#bind(left, held);
    if (operator === "=") return held;
    const other = this.#evaluate(left);
    return either.has(operator) ? union([other, held]) : null;
  }

  #evaluateObject(properties: readonly Node[]): Held | null {
    const fields = new Map<string, Held>();
    for (const property of properties) {
      if (isSpreadAssignment(property)) {
        const spread = this.#evaluate(property.expression);
        for (const [name, held] of spread?.fields ?? []) fields.set(name, held);
      } else if (isShorthandPropertyAssignment(property)) {
        const held = this.#lookUp(property);
        if (held) fields.set(property.name.getText(), held);
      } else if (isPropertyAssignment(property)) {
        const held = this.#evaluate(property.initializer);
        if (held) fields.set(property.name.getText(), held);
      }
    }
    return fields.size > 0 ? { itself: false, fields } : null;
  }

  #call(node: CallExpression): Held | null {
    const on = this.#evaluate(node.expression);
    const given = node.arguments.map((argument) => this.#evaluate(argument));
    const closures = node.arguments.flatMap((argument) =>
      isFunction(argument) && this.#uses(argument) ? [argument] : [],
    );
    const target = this.#targetOf(node);
    let result: Held | null = null;
    if (target && given.some((held) => held !== null)) result = this.#enter(target, given);
    else if (target && closures.length > 0 && !this.#visited.has(target)) {
      this.#visited.add(target);
      this.#trail.push(this.#program.pathOf(target) ?? "");
    }
    for (const closure of closures) this.#enter(closure, []);
    return target ? result : (this.#evaluatePassed(node, given) ?? on);
  }

  /** The results of functions outside of the program. */
  #evaluatePassed({ expression }: CallExpression, given: readonly (Held | null)[]): Held | null {
    if (!isPropertyAccessExpression(expression)) return null;
    if (promiseMethods.has(expression.name.text)) return this.#evaluate(expression.expression);
    return passing.has(expression.getText()) ? union(given) : null;
  }

  #uses(node: Node): boolean {
    if (isIdentifier(node) || isShorthandPropertyAssignment(node)) return this.#lookUp(node) !== null;
    let uses = false;
    node.forEachChild((child) => void (uses ||= this.#uses(child)));
    return uses;
  }

  /** The function that is called, if the program has its body and does not ignore it. */
  #targetOf(node: CallExpression): FunctionNode | null {
    const { project } = this.#program;
    const { ignoredFolders, ignoredFunctions } = this.#start;
    const declaration = project.checker.getResolvedSignature(node)?.declaration?.resolve(project);
    const file = declaration && this.#program.pathOf(declaration);
    if (!declaration || !file || ignoredFolders.some((folder) => file.startsWith(`${folder}/`))) return null;
    const isEntered =
      isFunction(declaration) && !ignoredFunctions.includes(declaration.name?.getText() ?? "");
    return isEntered ? declaration : null;
  }

  #lookUp(node: Node): Held | null {
    const { checker } = this.#program.project;
    const symbol = isShorthandPropertyAssignment(node)
      ? checker.getShorthandAssignmentValueSymbol(node)
      : checker.getSymbolAtLocation(node);
    return (symbol && this.#variables.get(symbol.id)) ?? null;
  }

  #bind(name: Node, held: Held | null): void {
    if (!held) return;
    if (isObjectBindingPattern(name)) {
      for (const element of name.elements) {
        if (!isBindingElement(element) || !element.name) continue;
        const field = (element.propertyName ?? element.name).getText();
        this.#bind(element.name, element.dotDotDotToken ? held : fieldOf(held, field));
      }
      return;
    }
    const symbol = isIdentifier(name) ? this.#program.project.checker.getSymbolAtLocation(name) : undefined;
    if (!symbol) return;
    const known = this.#variables.get(symbol.id) ?? null;
    this.#variables.set(symbol.id, union([known, held]) ?? held);
  }
}

function fieldOf(held: Held | null, name: string): Held | null {
  return held?.fields.get(name) ?? null;
}

function union(all: readonly (Held | null)[]): Held | null {
  const held = all.filter((one) => one !== null);
  if (held.length <= 1) return held[0] ?? null;
  const fields = new Map<string, Held>();
  for (const [name, field] of held.flatMap((one) => [...one.fields]))
    fields.set(name, union([fields.get(name) ?? null, field]) ?? field);
  return { itself: held.some(({ itself }) => itself), fields };
}

function describe(held: Held | null): string {
  if (!held) return "-";
  const fields = [...held.fields].map(([name, field]) => `${name}:${describe(field)}`);
  return `${held.itself ? "itself" : ""}{${fields.toSorted().join()}}`;
}
