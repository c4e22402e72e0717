import { ChatMessage, isJsonObject, type Json } from "#kernel";
import type { ScriptedAnswer } from "../scripted-model.ts";
import type { ProviderAnswer, ProviderCall } from "./provider-answer.ts";
import { ProviderMessage, type ProviderRequest } from "./provider-request.ts";

/** Decides the answers of the fake provider. If it throws, the request fails with 500 and the error's message. */
export type ProviderScript = (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>;

/** An answer in any form: a string is text; `say`, `call` and `fail` work as for `scriptedModel`. */
type AnyAnswer = ProviderAnswer | ScriptedAnswer | string;

/** Returns these answers in order, to any agent. The last one is repeated. */
export function answers(list: readonly [AnyAnswer, ...AnyAnswer[]]): ProviderScript {
  let next = 0;
  return () => {
    const answer = list[Math.min(next, list.length - 1)] ?? list[0];
    next += 1;
    if (typeof answer === "string") return { text: answer };
    return "message" in answer ? toProviderAnswer(answer) : answer;
  };
}

function toProviderAnswer({ message, error }: ScriptedAnswer): ProviderAnswer {
  if (error) throw error;
  const toolCalls = message.content.flatMap((block) => (block.type === "tool-call" ? [block] : []));
  return { text: ChatMessage.text(message), toolCalls };
}

/** A script for each model. A model that is not here does not exist: 404. */
export function byModel(scripts: Readonly<Record<string, ProviderScript>>): ProviderScript {
  return (request) => scripts[request.model]?.(request) ?? { fault: "not-found" };
}

/** Repeats the last user message. */
export function echo(): ProviderScript {
  return ({ messages }) => ({ text: lastWords(messages) });
}

/**
 * A script that follows commands. For each line `call search {"question": "pump"}` of the latest user message with such
 * lines, it calls that tool; lines that begin with `then call` wait for the previous results. Tools that the request
 * does not offer are skipped. When no call is left, it answers with the results, one per line. Without any command, it
 * echoes.
 */
export function commandScript(): ProviderScript {
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

function lastWords(messages: readonly ProviderMessage[]): string {
  const last = messages.findLast(({ role }) => role === "user");
  return last ? ProviderMessage.text(last) : "";
}

function resultsOf({ parts }: ProviderMessage): readonly string[] {
  return parts.flatMap((part) => (part.type === "tool-result" ? [part.text] : []));
}

const orderLine = /^\s*(then )?call ([\w.-]+)\s*(\{.*\})?\s*$/;

/** The calls that a message asks for, in steps. */
function stepsOf(message: ProviderMessage | undefined): readonly (readonly ProviderCall[])[] {
  const steps: ProviderCall[][] = [];
  for (const line of message ? ProviderMessage.text(message).split("\n") : []) {
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
