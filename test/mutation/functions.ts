import { nodeAt, parse, walk } from "./syntax.ts";

/** A function of a file, by its place. The file itself is one from 0 to its end. */
export interface FunctionSpan {
  readonly start: number;
  readonly end: number;
}

const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** Returns the functions of a source, the file first. */
export function functionsOf(source: string): readonly FunctionSpan[] {
  const spans: FunctionSpan[] = [{ start: 0, end: source.length }];
  walk(parse(source), ({ type, start, end }) => {
    if (isFunction.test(type)) spans.push({ start, end });
  });
  return spans;
}

/** Returns the start of the innermost function around a place. */
export function functionAround(spans: readonly FunctionSpan[], at: number): number {
  const around = spans.filter(({ start, end }) => start <= at && at < end);
  return around.reduce((best, span) => (span.start >= best ? span.start : best), 0);
}

/** Returns a source that reports each function it enters, by `file:start`, to the recorder of `recorder.ts`. */
export function instrument(file: string, source: string): string {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const report = (start: number): string => `globalThis.reeveRecord?.("${file}:${start}")`;
  walk(parse(source), (node) => {
    const body = isFunction.test(node.type) ? nodeAt(node, "body") : null;
    if (!body) return;
    if (body.type === "BlockStatement")
      insertions.push({ at: body.start + 1, text: `${report(node.start)};` });
    else insertions.push({ at: body.start, text: `(${report(node.start)}, ` }, { at: body.end, text: ")" });
  });
  let text = source;
  // From the end, so that positions remain valid. At the same position, the inner one closes first.
  for (const { at, text: added } of insertions.toSorted((a, b) => b.at - a.at))
    text = text.slice(0, at) + added + text.slice(at);
  return `${report(0)};${text}`;
}
