import { tool } from "#agents";
import {
  isJsonObject,
  type HumanQuestion,
  type Json,
  type JsonObject,
  type QuestionField,
  type Tool,
} from "#kernel";
import { objectInput } from "./object-input.ts";

const maxQuestionLength = 2_000;
const maxChoices = 20;
const maxFields = 20;
const maxLabelLength = 200;

/** A question, and the answer that a person has given. A model cannot give one: it is no part of the schema. */
type AskedQuestion = HumanQuestion & { readonly answer?: Json };

/**
 * Lets agents ask a person: `ask_human`. The run waits for the answer, through restarts and for as long as the runtime's
 * `approvalExpiresS`. The question is an approval record, so it is listed, and answered by `run.edit(id, answer)`, over HTTP and
 * by `reeve answer`. An answer that does not fit the choices or the form is refused, and the question stays.
 */
export function askHuman(): Tool {
  return tool<AskedQuestion>({
    name: "ask_human",
    description:
      "Asks a person and waits for the answer: a text, one of the choices, or a form. Ask only what you cannot find out yourself.",
    input: questionInput,
    risk: "safe",
    // The answer is in the journal before this step: it can be taken again.
    idempotent: true,
    answeredBy: "human",
    execute: ({ answer = null }) => answer,
  });
}

const choicesSchema = {
  type: "array",
  items: { type: "string", maxLength: maxLabelLength },
  minItems: 2,
  maxItems: maxChoices,
};

const questionInput = objectInput<AskedQuestion>({
  properties: {
    question: { type: "string", maxLength: maxQuestionLength },
    choices: { ...choicesSchema, description: "The only answers. Default: any text." },
    fields: {
      type: "array",
      maxItems: maxFields,
      description: "A form to fill in, instead of choices.",
      items: {
        type: "object",
        properties: {
          name: { type: "string", maxLength: maxLabelLength },
          type: { type: "string", enum: ["text", "number", "boolean"] },
          description: { type: "string", maxLength: maxLabelLength },
          choices: choicesSchema,
          optional: { type: "boolean" },
        },
        required: ["name", "type"],
        additionalProperties: false,
      },
    },
  },
  required: ["question"],
  check: ({ question, choices, fields }) => {
    if (!isLabel(question, maxQuestionLength))
      return `question: a text of 1 to ${maxQuestionLength} characters`;
    if (choices !== undefined && fields !== undefined) return "give choices or fields, not both";
    if (choices !== undefined) return isChoices(choices) ? { question, choices } : `choices: ${choicesRule}`;
    if (fields === undefined) return { question };
    const checked = checkFields(fields);
    return typeof checked === "string" ? checked : { question, fields: checked };
  },
});

function checkFields(given: Json): readonly QuestionField[] | string {
  if (!Array.isArray(given) || given.length === 0 || given.length > maxFields)
    return `fields: a list of 1 to ${maxFields} is needed`;
  const fields: QuestionField[] = [];
  for (const each of given) {
    const field = isJsonObject(each) ? checkField(each) : "an object is needed";
    if (typeof field === "string") return `fields: ${field}`;
    if (fields.some(({ name }) => name === field.name)) return `fields: two have the name ${field.name}`;
    fields.push(field);
  }
  return fields;
}

function checkField({ name, type, description, choices, optional }: JsonObject): QuestionField | string {
  if (!isLabel(name, maxLabelLength)) return `name: a text of 1 to ${maxLabelLength} characters`;
  if (type !== "text" && type !== "number" && type !== "boolean") return "type: text, number or boolean";
  if (description !== undefined && !isLabel(description, maxLabelLength))
    return "description: a text is needed";
  if (choices !== undefined && !(type === "text" && isChoices(choices)))
    return `choices: ${choicesRule}, of a text`;
  if (optional !== undefined && typeof optional !== "boolean") return "optional: true or false";
  return {
    name,
    type,
    ...(description !== undefined && { description }),
    ...(choices !== undefined && { choices }),
    ...(optional === true && { optional }),
  };
}

const choicesRule = `2 to ${maxChoices} different texts of at most ${maxLabelLength} characters`;

const isLabel = (value: Json | undefined, max: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= max;

const isChoices = (value: Json): value is string[] =>
  Array.isArray(value) &&
  value.length >= 2 &&
  value.length <= maxChoices &&
  new Set(value).size === value.length &&
  value.every((each: Json) => isLabel(each, maxLabelLength));
