import { isJsonObject, type Json } from "#kernel";
import type { DoubleAnswer, DoubleCall } from "./double-answer.ts";
import { DoubleMessage, type DoubleRequest } from "./double-request.ts";

/** Decides what the double says. If it throws, the request fails with 500 and the words of the error. */
export type DoubleScript = (request: DoubleRequest) => DoubleAnswer | Promise<DoubleAnswer>;

/** Answers in this order, whoever asks; the last one is repeated for ever. A string is an answer in words. */
export function answers(list: readonly [DoubleAnswer | string, ...(DoubleAnswer | string)[]]): DoubleScript {
  let next = 0;
  return () => {
    const answer = list[Math.min(next, list.length - 1)] ?? list[0];
    next += 1;
    return typeof answer === "string" ? { text: answer } : answer;
  };
}

/** A script for each model. A model that is not here does not exist: 404. */
export function byModel(scripts: Readonly<Record<string, DoubleScript>>): DoubleScript {
  return (request) => scripts[request.model]?.(request) ?? { fault: "not-found" };
}

/** Repeats the last thing a user said. */
export function echo(): DoubleScript {
  return ({ messages }) => ({ text: lastWords(messages) });
}

/**
 * An agent that does as it is told. For each line `call look {"question": "mill"}` of the latest user message that
 * has any, it calls that tool; lines that begin with `then call` wait for the results of those before. Tools that the
 * request does not offer are left out. When nothing is left to call, it says the results, one per line. If no user
 * message tells it to call anything, it echoes.
 */
export function obedient(): DoubleScript {
  return ({ messages, tools }) => {
    const order = messages.findLastIndex(
      ({ role }, index) => role === "user" && stepsOf(messages[index]).length > 0,
    );
    if (order < 0) return { text: lastWords(messages) };
    const since = messages.slice(order + 1);
    const done = since.filter(({ parts }) => parts.some(({ type }) => type === "tool-call")).length;
    const step = stepsOf(messages[order])[done] ?? [];
    const toolCalls = step.filter((call) => tools.some(({ name }) => name === call.name));
    return toolCalls.length > 0 ? { toolCalls } : { text: since.flatMap(resultsOf).join("\n") };
  };
}

function lastWords(messages: readonly DoubleMessage[]): string {
  const last = messages.findLast(({ role }) => role === "user");
  return last ? DoubleMessage.text(last) : "";
}

function resultsOf({ parts }: DoubleMessage): readonly string[] {
  return parts.flatMap((part) => (part.type === "tool-result" ? [part.text] : []));
}

const orderLine = /^\s*(then )?call ([\w.-]+)\s*(\{.*\})?\s*$/;

/** The calls that a message asks for, in steps. */
function stepsOf(message: DoubleMessage | undefined): readonly (readonly DoubleCall[])[] {
  const steps: DoubleCall[][] = [];
  for (const line of message ? DoubleMessage.text(message).split("\n") : []) {
    const [, then, name, json = "{}"] = orderLine.exec(line) ?? [];
    const input = parse(json);
    if (name === undefined || input === null) continue;
    const step = then === undefined ? steps.at(-1) : undefined;
    if (step) step.push({ name, input });
    else steps.push([{ name, input }]);
  }
  return steps;
}

function parse(json: string): Json | null {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
