// Questions of a server, on their way to a user and back.
//
// A server of revision 2026-07-28 answers a call with the input that it needs and a state. The call's step ends, users
// are asked one question after another, and a later execution, perhaps in another process, makes the call again with
// the answers and the state.
//
// Invariants:
// 1. Text of a server is shown to users as data, cut to a length, below the name of the server.
// 2. No page is opened, and no answer is invented: a request that the user did not accept is declined.
// 3. Users are asked as by any other tool: a form that cannot become a `HumanQuestion` is declined.
import {
  HumanQuestion,
  isJsonObject,
  Json,
  ToolResult,
  type EffectCall,
  type JsonObject,
  type ToolAnswer,
} from "#kernel";
import type { CallSettings } from "./call-settings.ts";
import type { ElicitAnswer, SampleAnswer } from "./open-client.ts";
import { sample } from "./sampling.ts";

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

/** A question for the user, as sent by the server. */
type Elicitation =
  | { readonly message: string; readonly schema: JsonObject }
  | { readonly message: string; readonly url: string };

/** An unanswered question for the user, with the server's key for it. */
interface OpenQuestion {
  readonly key: string;
  readonly question: HumanQuestion;
}

/** The part of a call's state that its questions need. */
export interface AnswerProgress {
  /** The questions that have no answer yet. The first one is asked. */
  readonly open: readonly OpenQuestion[];
  /** The answers so far. */
  readonly responses: InputResponses;
}

/** Declines or samples the requests that need no user, and returns the others as questions. */
export async function beginAnswers(
  requests: JsonObject,
  settings: CallSettings,
  { llm }: Pick<EffectCall, "llm">,
): Promise<AnswerProgress> {
  const { open, samples, declined } = sortRequests(requests, settings);
  const responses: InputResponses = {};
  for (const key of declined) responses[key] = { action: "decline" };
  for (const [key, params] of Object.entries(samples))
    responses[key] = await sample(params, llm, settings.maxSamplingTokens);
  return { open, responses };
}

/** Ends the execution with the next question; null: there is none. */
export function askNext(
  state: AnswerProgress,
  options?: Parameters<typeof ToolResult.ask>[2],
): ReturnType<typeof ToolResult.ask> | null {
  const [next] = state.open;
  return next ? ToolResult.ask(next.question, state, options) : null;
}

/** Returns the state that the last execution has left, with the answer to its question. */
export function takeAnswer<State extends AnswerProgress>(state: State, answer: ToolAnswer | null): State {
  const [asked, ...rest] = state.open;
  const given = asked && answer ? { [asked.key]: toElicitAnswer(answer) } : {};
  return { ...state, open: rest, responses: { ...state.responses, ...given } };
}

/** The requests of a call, grouped by how they are handled. */
interface SortedRequests {
  readonly open: readonly OpenQuestion[];
  /** Parameters of model calls that the server asks for. */
  readonly samples: Readonly<Record<string, Json>>;
  /** Requests that are declined at once. */
  readonly declined: readonly string[];
}

/** Groups the requests of a call. @throws TypeError if there are too many, or one of an unknown kind. */
function sortRequests(
  requests: JsonObject,
  {
    server,
    asks,
    samples: mayModel,
  }: { readonly server: string; readonly asks: boolean; readonly samples: boolean },
): SortedRequests {
  const entries = Object.entries(requests);
  if (entries.length > maxQuestions)
    throw new TypeError(`it asks ${entries.length} questions at once; at most ${maxQuestions} are allowed`);
  const open: OpenQuestion[] = [];
  const samples: Record<string, Json> = {};
  const declined: string[] = [];
  for (const [key, request] of entries) {
    const { method, params } = isJsonObject(request) ? request : {};
    const elicitation = method === "elicitation/create" ? readElicitation(params ?? null) : null;
    const question = elicitation && asks ? toHumanQuestion(server, elicitation) : null;
    if (question) open.push({ key, question });
    else if (method === "sampling/createMessage" && mayModel) samples[key] = params ?? null;
    else if (method === "elicitation/create") declined.push(key);
    else throw new TypeError(`it requests ${JSON.stringify(method ?? null)}, which is not allowed`);
  }
  return { open, samples, declined };
}

/** Reads a question. Null if it is not one for a user. */
export function readElicitation(params: Json): Elicitation | null {
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

/** Converts a server's question into one for a user. Null if it has no form that a user can fill in. */
function toHumanQuestion(server: string, elicitation: Elicitation): HumanQuestion | null {
  const text = `MCP server ${server} asks: ${elicitation.message}`;
  if ("url" in elicitation) return toConfirmation(`${text}\nThe page to open: ${elicitation.url}`);
  const { properties, required } = elicitation.schema;
  const needed: ReadonlySet<Json> = new Set(Array.isArray(required) ? required : []);
  const fields = Object.entries(isJsonObject(properties) ? properties : {});
  if (fields.length === 0) return toConfirmation(text);
  const form = fields.map(([name, schema]) => toField(name, schema ?? null, !needed.has(name)));
  const question = HumanQuestion.parse({ question: text, fields: form });
  return typeof question === "string" ? null : question;
}

const toConfirmation = (question: string): HumanQuestion => ({ question, choices: ["accept"] });

const fieldTypes: Readonly<Record<string, string>> = {
  string: "text",
  number: "number",
  integer: "integer",
  boolean: "boolean",
  array: "list",
};

/** Converts a property of a form. A schema that no form of the protocol has gives a field that cannot be read. */
function toField(name: string, schema: Json, optional: boolean): Json {
  if (!isJsonObject(schema)) return null;
  const { type, title, description, format, items } = schema;
  const { choices, titles } = readChoices(type === "array" && isJsonObject(items) ? items : schema);
  const min = schema["minimum"] ?? schema["minLength"] ?? schema["minItems"];
  const max = schema["maximum"] ?? schema["maxLength"] ?? schema["maxItems"];
  const about = [title, description, format, ...titles].filter(
    (text): text is string => typeof text === "string" && text !== "",
  );
  return {
    name,
    type: (typeof type === "string" ? fieldTypes[type] : null) ?? null,
    optional,
    ...(about.length > 0 && { description: about.join("; ").slice(0, HumanQuestion.maxDescriptionLength) }),
    ...(choices && { choices }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
  };
}

/** Reads the choices of a property and their titles. */
function readChoices({ enum: values, oneOf, anyOf }: JsonObject): {
  readonly choices: readonly Json[] | null;
  readonly titles: readonly string[];
} {
  const titled = oneOf ?? anyOf;
  if (!Array.isArray(titled)) return { choices: Array.isArray(values) ? values : null, titles: [] };
  const known = titled.map((each: Json) => (isJsonObject(each) ? each : {}));
  return {
    choices: known.map(({ const: value = null }) => value),
    titles: known.flatMap(({ const: value, title }) =>
      typeof value === "string" && typeof title === "string" ? [`${value}: ${title}`] : [],
    ),
  };
}

/** Converts the answer of a user. Only a form has content. */
function toElicitAnswer(answer: ToolAnswer): ElicitAnswer {
  if (answer.decision !== "answered") return { action: answer.decision === "expired" ? "cancel" : "decline" };
  const { content } = answer;
  return { action: "accept", ...(isJsonObject(content) && { content: toFields(content) }) };
}

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
