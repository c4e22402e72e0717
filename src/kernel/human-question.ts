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
    if (!isJsonObject(given)) return "must be an object with a question";
    const { question, choices, fields } = given;
    if (!isLabel(question, maxQuestionLength))
      return `question must be a text of 1 to ${maxQuestionLength} characters`;
    if (choices !== undefined && fields !== undefined) return "give choices or fields, not both";
    if (choices !== undefined)
      return isChoices(choices) ? { question, choices } : `choices must be ${choicesRule}`;
    if (fields === undefined) return { question };
    const read = parseFields(fields);
    return typeof read === "string" ? `fields${read}` : { question, fields: read };
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
    return ` must be a list of 1 to ${maxFields} fields`;
  const fields: QuestionField[] = [];
  for (const [index, each] of given.entries()) {
    const field = isJsonObject(each) ? parseField(each) : " must be an object";
    if (typeof field === "string") return `[${index}]${field}`;
    if (fields.some(({ name }) => name === field.name))
      return `[${index}].name must differ from the other names, got ${field.name} twice`;
    fields.push(field);
  }
  return fields;
}

function parseField(given: JsonObject): QuestionField | string {
  const { name, description, choices, optional, min, max } = given;
  const type = fieldTypes.find((each) => each === given["type"]);
  if (!isLabel(name, maxLabelLength)) return `.name must be a text of 1 to ${maxLabelLength} characters`;
  if (!type) return `.type must be one of ${fieldTypes.join(", ")}`;
  if (description !== undefined && !isLabel(description, maxDescriptionLength))
    return `.description must be a text of 1 to ${maxDescriptionLength} characters`;
  if (type === "list" && choices === undefined) return `.choices must be ${choicesRule}`;
  if (choices !== undefined && !(isChoices(choices) && (type === "text" || type === "list")))
    return `.choices must be ${choicesRule}, and only a text or a list may have them`;
  if (optional !== undefined && typeof optional !== "boolean") return ".optional must be true or false";
  if (!isLimit(min) || !isLimit(max) || (min ?? -Infinity) > (max ?? Infinity))
    return ".min and .max must be numbers, with min <= max";
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

const choicesRule = `1 to ${maxChoices} different texts of at most ${maxLabelLength} characters`;

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
  if (!isJsonObject(answer)) return "must be an object with the fields";
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(answer).find((name) => !names.includes(name));
  if (unknown !== undefined) return `unknown field ${unknown}; fields: ${names.join(", ")}`;
  for (const field of fields) {
    const value = Object.hasOwn(answer, field.name) ? answer[field.name] : undefined;
    const problem = checkField(field, value);
    if (problem !== null) return `${field.name} ${problem}`;
  }
  return null;
}

function checkField(field: QuestionField, value: Json | undefined): string | null {
  if (value === undefined) return field.optional ? null : "is missing";
  if (field.type === "text") return checkText(field, value);
  if (field.type === "list") return checkList(field, value);
  if (field.type === "boolean") return typeof value === "boolean" ? null : "must be true or false";
  if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number";
  if (field.type === "integer" && !Number.isSafeInteger(value)) return "must be an integer";
  return checkRange(field, value, "");
}

function checkList(field: QuestionField, value: Json): string | null {
  if (!Array.isArray(value) || new Set(value).size !== value.length)
    return "must be a list of different choices";
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
  if (typeof answer !== "string" || (min > 0 && answer.trim() === ""))
    return "must be a text that is not empty";
  if (choices) return checkChoice(choices, answer);
  return checkRange({ min, max: Math.min(max, maxTextLength) }, answer.length, " characters");
}

const checkChoice = (choices: readonly string[], answer: Json): string | null =>
  choices.some((each) => each === answer) ? null : `must be one of ${choices.join(", ")}`;

function checkRange(
  { min = -Infinity, max = Infinity }: Pick<QuestionField, "min" | "max">,
  size: number,
  unit: string,
): string | null {
  if (size < min) return `must be at least ${min}${unit}, got ${size}`;
  return size > max ? `must be at most ${max}${unit}, got ${size}` : null;
}
