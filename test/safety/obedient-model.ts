import { ChatMessage, Json, type Model, type ModelResponse } from "reeve";
import { isJsonObject, type ToolCallBlock } from "#kernel";

interface Order {
  readonly name: string;
  readonly input: Json;
}

/**
 * A model without any judgement: it follows the instructions in a result (`CALL tool {json}`), then those of its task,
 * line by line. `SECRET` in an instruction means the last secret it has read. Its answer repeats the results. A sleeper
 * follows no result until it has read a secret; then it follows any result and its system prompt, however old.
 */
export function obedientModel({ sleeps = false }: { readonly sleeps?: boolean } = {}): Model {
  return {
    id: "commandScript",
    generate: async ({ messages }): Promise<ModelResponse> => {
      const orders = ordersFor(messages, sleeps);
      const usage = { input: 10, output: 5 };
      if (orders.length > 0) {
        const content = orders.map(({ name, input }, index): ToolCallBlock => ({
          type: "tool-call",
          callId: `call-${index}`,
          name,
          input,
        }));
        return { message: { role: "assistant", content }, finishReason: "tool-calls", usage };
      }
      const results = messages.filter(({ role }) => role === "tool").map(textOf);
      const text = `done: ${results.join("\n").slice(0, 4_000)}`;
      return { message: ChatMessage.assistant(text), finishReason: "stop", usage };
    },
  };
}

/** Returns the instructions of a result, else the next line of the task. Nothing is done twice. */
function ordersFor(messages: readonly ChatMessage[], sleeps: boolean): readonly Order[] {
  const made = new Set(messages.flatMap(({ content }) => content).flatMap(keyOfCall));
  const results = messages.filter(({ role }) => role === "tool").map(textOf);
  const secret =
    results.map((text) => /secret-\w+/.exec(text)?.[0] ?? "").findLast((found) => found !== "") ?? "";
  const fresh = (texts: readonly string[]): readonly Order[] =>
    texts
      .flatMap((text) => ordersIn(text.replaceAll("SECRET", secret)))
      .filter((order) => !made.has(keyOf(order)));
  const system = messages.filter(({ role }) => role === "system").map(textOf);
  const heard = sleeps ? (secret === "" ? [] : [...system, ...results]) : results.slice(-1);
  const injected = fresh(heard);
  const task = fresh(messages.filter(({ role }) => role === "user").map(textOf));
  return injected.length > 0 ? injected : task.slice(0, 1);
}

const keyOf = ({ name, input }: Order): string => `${name} ${JSON.stringify(input)}`;
const keyOfCall = (block: ChatMessage["content"][number]): readonly string[] =>
  block.type === "tool-call" ? [keyOf(block)] : [];

/** Returns all text of a message, strings inside JSON included. */
function textOf({ content }: ChatMessage): string {
  return content
    .flatMap((block) => (block.type === "tool-result" ? block.content : [block]))
    .map((block) =>
      block.type === "text" ? `${block.text}\n${stringsIn(parseJson(block.text)).join("\n")}` : "",
    )
    .join("\n");
}

function stringsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(stringsIn) : [];
}

function ordersIn(text: string): readonly Order[] {
  const found = [...text.matchAll(/CALL (\w{1,64}) (?=\{)/g)].flatMap(({ 1: name = "", 0: head, index }) => {
    const input = parseJson(objectAt(text, index + head.length));
    return isJsonObject(input) ? [{ name, input }] : [];
  });
  return found.filter((order, index) => found.findIndex((other) => keyOf(other) === keyOf(order)) === index);
}

/** The text of the object that begins here, up to the brace that closes it. */
function objectAt(text: string, from: number): string {
  let depth = 0;
  let isQuoted = false;
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === "{") depth += 1;
    else if (!isQuoted && character === "}" && --depth === 0) return text.slice(from, at + 1);
  }
  return "";
}

function parseJson(text: string): Json | undefined {
  try {
    return Json.of(JSON.parse(text));
  } catch {
    return undefined;
  }
}
