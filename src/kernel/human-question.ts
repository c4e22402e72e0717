import { isJsonObject, type Json, type JsonObject } from "./json.ts";

/** One field of a form that a person fills in. */
export type QuestionField = {
  readonly name: string;
  readonly type: "text" | "number" | "boolean";
  /** The text that tells a person what to fill in. */
  readonly description?: string;
  /** The only values of a text. Default: any. */
  readonly choices?: readonly string[];
  /** Default false. */
  readonly optional?: boolean;
};

/** A question to a person. The answer is a text, one of the choices, or an object with the fields. */
export type HumanQuestion = {
  readonly question: string;
  /** The only answers. */
  readonly choices?: readonly string[];
  /** The form to fill in. */
  readonly fields?: readonly QuestionField[];
};

const maxTextLength = 10_000;

/** Readers of {@link HumanQuestion}. */
export const HumanQuestion = {
  /** Characters of an answer, and of a field that is a text. */
  maxTextLength,
  /** Returns the problem of an answer; null: it is one. The question may come from storage, so it is not trusted. */
  checkAnswer: (question: Json, answer: Json): string | null => {
    if (!isJsonObject(question)) return "the question is gone";
    const { choices, fields } = question;
    return Array.isArray(fields) ? checkForm(fields, answer) : checkText(textsOf(choices), answer);
  },
} as const;

function checkForm(fields: readonly Json[], answer: Json): string | null {
  if (!isJsonObject(answer)) return "an object with the fields is needed";
  const known = fields.flatMap((field) =>
    isJsonObject(field) && typeof field["name"] === "string" ? [{ ...field, name: field["name"] }] : [],
  );
  const names = known.map(({ name }) => name);
  const unknown = Object.keys(answer).find((name) => !names.includes(name));
  if (unknown !== undefined) return `${unknown}: no such field; fields: ${names.join(", ")}`;
  for (const field of known) {
    const problem = checkField(field, answer[field.name]);
    if (problem !== null) return `${field.name}: ${problem}`;
  }
  return null;
}

function checkField({ type, choices, optional }: JsonObject, value: Json | undefined): string | null {
  if (value === undefined) return optional === true ? null : "is missing";
  if (type === "number") return Number.isFinite(value) ? null : "a number is needed";
  if (type === "boolean") return typeof value === "boolean" ? null : "true or false is needed";
  return checkText(textsOf(choices), value);
}

function checkText(choices: readonly string[] | null, answer: Json): string | null {
  if (typeof answer !== "string") return "a text is needed";
  if (choices) return choices.includes(answer) ? null : `one of ${choices.join(", ")} is needed`;
  if (answer.length > maxTextLength) return `at most ${maxTextLength} characters, got ${answer.length}`;
  return answer.trim() === "" ? "a text is needed" : null;
}

const textsOf = (value: Json | undefined): readonly string[] | null =>
  Array.isArray(value) ? value.filter((each: Json) => typeof each === "string") : null;
