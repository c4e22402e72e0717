import type { Node } from "typescript/unstable/ast";
import {
  isArrayBindingPattern,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isForOfStatement,
  isFunctionDeclaration,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { isFunction, walk, type Program } from "./program.ts";

/*
 * Ideas that should be written once. Each is recognised by its form, so a copy under another name is found, and one of
 * another form is not.
 */

/** Whether a function writes an idea out. */
type Form = (node: Node) => boolean;

/** The forms by the name of the idea. */
const forms: Readonly<Record<string, Form>> = {
  /** Compares the size of a collection with a limit, and removes its oldest item. */
  lru: (node) => {
    const limited = new Set<string>();
    const taken = new Set<string>();
    walk(node, (inner) => {
      if (isBinaryExpression(inner) && /^[<>]=?$/.test(inner.operatorToken.getText()))
        for (const [side, other] of [[inner.left, inner.right] as const, [inner.right, inner.left] as const])
          if (isPropertyAccessExpression(side) && side.name.text === "size" && other.getText() !== "0")
            limited.add(side.expression.getText());
      const first = isForOfStatement(inner)
        ? inner.expression
        : isVariableDeclaration(inner) && isArrayBindingPattern(inner.name)
          ? inner.initializer
          : undefined;
      if (first) taken.add(first.getText().replace(/\.(keys|values|entries)\(\)$/, ""));
    });
    return [...limited].some((collection) => taken.has(collection));
  },
  /** Multiplies a time by a power of two, or lets it grow by a factor up to a limit. */
  backoff: (node) =>
    has(node, (inner) => {
      if (isBinaryExpression(inner) && inner.operatorToken.getText() === "*")
        return [inner.left, inner.right].some(
          (side) =>
            isBinaryExpression(side) && side.operatorToken.getText() === "**" && side.left.getText() === "2",
        );
      return (
        isCallExpression(inner) &&
        inner.expression.getText() === "Math.min" &&
        inner.arguments.some(
          (side) =>
            isBinaryExpression(side) &&
            side.operatorToken.getText() === "*" &&
            [side.left, side.right].some((factor) => /(ms|delay|pause|wait)$/i.test(factor.getText())),
        )
      );
    }),
  /** Arms a timer that names a limit, a timeout, or that something is late. */
  timeout: (node) =>
    has(
      node,
      (inner) =>
        isCallExpression(inner) &&
        /(^|\.)(callAt|waitUntil|setTimeout)$/.test(inner.expression.getText()) &&
        /late\b|timeout|limit/i.test(inner.arguments.map((argument) => argument.getText()).join()),
    ),
  /** Freezes a value, and calls itself for its parts. */
  freeze: (node) => {
    const name = isFunctionDeclaration(node) ? node.name?.text : undefined;
    const calls = (called: string): boolean =>
      has(node, (inner) => isCallExpression(inner) && inner.expression.getText() === called);
    return name !== undefined && calls("Object.freeze") && calls(name);
  },
  /** Takes the message of an error, or another text of a value that is not an error. */
  errorText: (node) =>
    has(
      node,
      (inner) =>
        isConditionalExpression(inner) &&
        / instanceof \w*Error$/.test(inner.condition.getText()) &&
        isPropertyAccessExpression(inner.whenTrue) &&
        inner.whenTrue.name.text === "message" &&
        isIdentifier(inner.whenTrue.expression),
    ),
};

/** Finds the files in which each idea is written out. */
export function findIdeas(
  program: Program,
  files: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [idea, isWritten] of Object.entries(forms)) {
    const where = files.filter((path) => {
      const file = program.files.get(path);
      return file && has(file, (node) => isFunction(node) && isWritten(node));
    });
    found.set(idea, where);
  }
  return found;
}

function has(node: Node, condition: (node: Node) => boolean): boolean {
  let found = false;
  walk(node, (inner) => void (found ||= condition(inner)));
  return found;
}
