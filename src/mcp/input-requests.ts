// Questions of a server, on their way to people and back.
//
// A server of revision 2026-07-28 answers a call with the input that it needs and a state. The call's step ends, people are
// asked, and a later execution, perhaps of another process, makes the call again with the answers and the state.
//
// Invariants:
// 1. The words of a server are shown to people as data, cut to a length, below the name of the server.
// 2. No page is opened, and no answer is made up: what people did not accept is declined.
import { isJsonObject, Json, type JsonObject, type ToolAnswer } from "#kernel";
import type { ElicitAnswer, SampleAnswer } from "./open-client.ts";

const maxQuestions = 10;
const maxMessage = 2_000;
const maxSchemaBytes = 10_000;

/** A result of a call that needs input first. */
export interface InputRequired {
  readonly requests: JsonObject;
  readonly state: string | null;
}

/** Reads the result of a call; null: it is complete. */
export function readInputRequired(result: unknown): InputRequired | null {
  const given = Json.of(result);
  if (!isJsonObject(given) || given["resultType"] !== "input_required") return null;
  const { inputRequests, requestState } = given;
  return {
    requests: isJsonObject(inputRequests) ? inputRequests : {},
    state: typeof requestState === "string" ? requestState : null,
  };
}

/** A question to people. */
export type Question =
  | { readonly message: string; readonly schema: JsonObject }
  | { readonly message: string; readonly url: string };

/** The requests of a call, by what is done about them. */
export interface SortedRequests {
  readonly questions: Readonly<Record<string, Question>>;
  /** Parameters of model calls that the server asks for. */
  readonly samples: Readonly<Record<string, Json>>;
  /** Requests that are declined at once. */
  readonly declined: readonly string[];
}

/** Sorts the requests of a call. @throws TypeError if there are too many, or one that nothing can answer. */
export function sortRequests(
  requests: JsonObject,
  { asks, samples: mayModel }: { readonly asks: boolean; readonly samples: boolean },
): SortedRequests {
  const entries = Object.entries(requests);
  if (entries.length > maxQuestions)
    throw new TypeError(`it asks ${entries.length} questions at once, and ${maxQuestions} are the most`);
  const questions: Record<string, Question> = {};
  const samples: Record<string, Json> = {};
  const declined: string[] = [];
  for (const [key, request] of entries) {
    const { method, params } = isJsonObject(request) ? request : {};
    const question = method === "elicitation/create" ? toQuestion(params ?? null) : null;
    if (question && asks) questions[key] = question;
    else if (method === "sampling/createMessage" && mayModel) samples[key] = params ?? null;
    else if (method === "elicitation/create") declined.push(key);
    else throw new TypeError(`it needs ${JSON.stringify(method ?? null)}, which is not allowed`);
  }
  return { questions, samples, declined };
}

/** Reads a question; null: it is none that people are asked. */
export function toQuestion(params: Json): Question | null {
  if (!isJsonObject(params)) return null;
  const { message, mode, url, requestedSchema } = params;
  if (typeof message !== "string") return null;
  const shown = message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message;
  if (mode === "url") return typeof url === "string" && isWebPage(url) ? { message: shown, url } : null;
  const isFine =
    isJsonObject(requestedSchema) && Buffer.byteLength(JSON.stringify(requestedSchema)) <= maxSchemaBytes;
  return isFine ? { message: shown, schema: requestedSchema } : null;
}

const isWebPage = (url: string): boolean =>
  url.length <= maxMessage && URL.canParse(url) && new URL(url).protocol === "https:";

/** Converts the answer of a person into one for each question. With one question, the content may be its answer itself. */
export function toElicitAnswers(
  questions: Readonly<Record<string, Question>>,
  { decision, content }: ToolAnswer,
): Record<string, ElicitAnswer> {
  const keys = Object.keys(questions);
  const given = isJsonObject(content) ? content : null;
  return Object.fromEntries(
    keys.map((key): [string, ElicitAnswer] => {
      if (decision !== "accepted") return [key, { action: decision === "expired" ? "cancel" : "decline" }];
      const own = given && key in given ? given[key] : keys.length === 1 ? given : null;
      return [key, toElicitAnswer(questions[key], own ?? null)];
    }),
  );
}

function toElicitAnswer(question: Question | undefined, content: Json): ElicitAnswer {
  if (question && "url" in question) return { action: "accept" };
  return content === null && needsFields(question)
    ? { action: "decline" }
    : { action: "accept", content: toFields(content) };
}

const needsFields = (question: Question | undefined): boolean => {
  const required = question && "schema" in question ? question.schema["required"] : undefined;
  return Array.isArray(required) && required.length > 0;
};

/** Keeps the fields that an answer may have: it is flat. */
export function toFields(content: unknown): NonNullable<ElicitAnswer["content"]> {
  const given = Json.of(content);
  if (!isJsonObject(given)) return {};
  const fields: NonNullable<ElicitAnswer["content"]> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      fields[name] = value;
    else if (Array.isArray(value)) fields[name] = value.filter((item: Json) => typeof item === "string");
  }
  return fields;
}

/** Answers to the requests of a call, as they are sent. */
export type InputResponses = Record<string, ElicitAnswer | SampleAnswer>;
