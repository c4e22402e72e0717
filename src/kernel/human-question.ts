import { isJsonObject, type Json, type JsonObject } from "./json.ts";

const fieldTypes = ["text", "number", "integer", "boolean", "list"] as const;

/** One field of a form that a person fills in. */
export type QuestionField = {
  readonly name: string;
  /** The type of the answer. A list is a subset of the choices. */
  readonly type: (typeof fieldTypes)[number];
  /** The text that describes the field to a person. */
  readonly description?: string;
  /** The only values of a text, or of the items of a list. Default for a text: any. */
  readonly choices?: readonly string[];
  /** Default: false. */
  readonly optional?: boolean;
  /** The smallest number, length of a text or count of items. Default: any, and for a text 1. */
  readonly min?: number;
  /** The largest number, length of a text or count of items. Default: any, and for a text `maxTextLength`. */
  readonly max?: number;
};

/** A question to a person. The answer is a text, one of the choices, or an object with the fields. */
export type HumanQuestion = {
  readonly question: string;
  /** The only answers. */
  readonly choices?: readonly string[];
  /** The form to fill in. */
  readonly fields?: readonly QuestionField[];
};

const maxQuestionLength = 5_000;
const maxChoices = 100;
const maxFields = 20;
const maxLabelLength = 200;
const maxDescriptionLength = 1_000;
const maxTextLength = 10_000;

/** Readers of {@link HumanQuestion}. */
export const HumanQuestion = {
  fieldTypes,
  maxQuestionLength,
  maxChoices,
  maxFields,
  /** Characters of a choice and of the name of a field. */
  maxLabelLength,
  /** Characters of the description of a field. */
  maxDescriptionLength,
  /** Characters of an answer, and of a field that is a text. */
  maxTextLength,
  /** Parses a question. Returns a description of the problem if it is invalid, or if no answer could fit it. */
  parse: (given: Json): HumanQuestion | string => {
    if (!isJsonObject(given)) return "an object with the question is needed";
    const { question, choices, fields } = given;
    if (!isLabel(question, maxQuestionLength))
      return `question: a text of 1 to ${maxQuestionLength} characters is needed`;
    if (choices !== undefined && fields !== undefined) return "give choices or fields, not both";
    if (choices !== undefined) return isChoices(choices) ? { question, choices } : `choices: ${choicesRule}`;
    if (fields === undefined) return { question };
    const read = parseFields(fields);
    return typeof read === "string" ? `fields: ${read}` : { question, fields: read };
  },
  /** Returns the problem of an answer. Null: it is valid. The question may come from storage, so it is checked too. */
  checkAnswer: (question: Json, answer: Json): string | null => {
    const asked = HumanQuestion.parse(question);
    if (typeof asked === "string") return `the question cannot be read: ${asked}`;
    return asked.fields ? checkForm(asked.fields, answer) : checkText(asked, answer);
  },
} as const;

function parseFields(given: Json): readonly QuestionField[] | string {
  if (!Array.isArray(given) || given.length === 0 || given.length > maxFields)
    return `a list of 1 to ${maxFields} is needed`;
  const fields: QuestionField[] = [];
  for (const each of given) {
    const field = isJsonObject(each) ? parseField(each) : "an object is needed";
    if (typeof field === "string") return field;
    if (fields.some(({ name }) => name === field.name)) return `two have the name ${field.name}`;
    fields.push(field);
  }
  return fields;
}

function parseField(given: JsonObject): QuestionField | string {
  const { name, description, choices, optional, min, max } = given;
  const type = fieldTypes.find((each) => each === given["type"]);
  if (!isLabel(name, maxLabelLength)) return `name: a text of 1 to ${maxLabelLength} characters is needed`;
  if (!type) return `type: one of ${fieldTypes.join(", ")} is needed`;
  if (description !== undefined && !isLabel(description, maxDescriptionLength))
    return `description: a text of 1 to ${maxDescriptionLength} characters is needed`;
  if (type === "list" && choices === undefined) return `choices: ${choicesRule}`;
  if (choices !== undefined && !(isChoices(choices) && (type === "text" || type === "list")))
    return `choices: ${choicesRule}, of a text or a list`;
  if (optional !== undefined && typeof optional !== "boolean") return "optional: true or false is needed";
  if (!isLimit(min) || !isLimit(max) || (min ?? -Infinity) > (max ?? Infinity))
    return "min, max: numbers are needed, the smaller one first";
  return {
    name,
    type,
    ...(description !== undefined && { description }),
    ...(choices !== undefined && { choices }),
    ...(optional === true && { optional }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
  };
}

const choicesRule = `1 to ${maxChoices} different texts of at most ${maxLabelLength} characters are needed`;

const isLabel = (value: Json | undefined, max: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= max;

const isLimit = (value: Json | undefined): value is number | undefined =>
  value === undefined || Number.isFinite(value);

const isChoices = (value: Json): value is string[] =>
  Array.isArray(value) &&
  value.length >= 1 &&
  value.length <= maxChoices &&
  new Set(value).size === value.length &&
  value.every((each: Json) => isLabel(each, maxLabelLength));

function checkForm(fields: readonly QuestionField[], answer: Json): string | null {
  if (!isJsonObject(answer)) return "an object with the fields is needed";
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(answer).find((name) => !names.includes(name));
  if (unknown !== undefined) return `${unknown}: no such field; fields: ${names.join(", ")}`;
  for (const field of fields) {
    const value = Object.hasOwn(answer, field.name) ? answer[field.name] : undefined;
    const problem = checkField(field, value);
    if (problem !== null) return `${field.name}: ${problem}`;
  }
  return null;
}

function checkField(field: QuestionField, value: Json | undefined): string | null {
  if (value === undefined) return field.optional ? null : "is missing";
  if (field.type === "text") return checkText(field, value);
  if (field.type === "list") return checkList(field, value);
  if (field.type === "boolean") return typeof value === "boolean" ? null : "true or false is needed";
  if (typeof value !== "number" || !Number.isFinite(value)) return "a number is needed";
  if (field.type === "integer" && !Number.isSafeInteger(value)) return "an integer is needed";
  return checkRange(field, value, "");
}

function checkList(field: QuestionField, value: Json): string | null {
  if (!Array.isArray(value) || new Set(value).size !== value.length) return "a list of choices is needed";
  for (const each of value) {
    const problem = checkChoice(field.choices ?? [], each);
    if (problem !== null) return problem;
  }
  return checkRange(field, value.length, " choices");
}

function checkText(
  { choices, min = 1, max = maxTextLength }: Pick<QuestionField, "choices" | "min" | "max">,
  answer: Json,
): string | null {
  if (typeof answer !== "string" || (min > 0 && answer.trim() === "")) return "a text is needed";
  if (choices) return checkChoice(choices, answer);
  return checkRange({ min, max: Math.min(max, maxTextLength) }, answer.length, " characters");
}

const checkChoice = (choices: readonly string[], answer: Json): string | null =>
  choices.some((each) => each === answer) ? null : `one of ${choices.join(", ")} is needed`;

function checkRange(
  { min = -Infinity, max = Infinity }: Pick<QuestionField, "min" | "max">,
  size: number,
  unit: string,
): string | null {
  if (size < min) return `at least ${min}${unit}, got ${size}`;
  return size > max ? `at most ${max}${unit}, got ${size}` : null;
}
