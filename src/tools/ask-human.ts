import { tool } from "#agents";
import { ContentBlock, HumanQuestion, ToolResult, type Tool } from "#kernel";
import { objectInput } from "./object-input.ts";

/**
 * Creates the tool `ask_human`, by which agents ask a user. The run waits for the answer, across restarts and up to the
 * runtime's `approvalExpiresS`. The question is an approval record, so it is listed, and answered by `run.edit(id,
 * answer)`, over HTTP and by `reeve answer`. An answer that does not fit the choices or the form is refused, and the
 * question remains open.
 */
export function askHuman(): Tool {
  return tool<HumanQuestion>({
    name: "ask_human",
    description:
      "Asks a person and waits for the answer: a text, one of the choices, or a form. Ask only what you cannot find out yourself.",
    input: questionInput,
    risk: "safe",
    // The tool only asks, and each question is asked once.
    idempotent: true,
    execute: (question, { resumed }) => {
      const answer = resumed?.answer;
      if (!answer) return ToolResult.ask(question);
      if (answer.decision === "answered") return answer.content;
      return ToolResult.show([ContentBlock.text(`not answered: ${answer.reason}`)], { isError: true });
    },
  });
}

const { fieldTypes, maxQuestionLength, maxChoices, maxFields, maxLabelLength, maxDescriptionLength } =
  HumanQuestion;

const choicesSchema = {
  type: "array",
  items: { type: "string", maxLength: maxLabelLength },
  minItems: 1,
  maxItems: maxChoices,
};

const questionInput = objectInput<HumanQuestion>({
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
          type: { type: "string", enum: [...fieldTypes], description: "A list is some of the choices." },
          description: { type: "string", maxLength: maxDescriptionLength },
          choices: choicesSchema,
          optional: { type: "boolean" },
          min: { type: "number", description: "Of a number, of the length of a text, or of the items." },
          max: { type: "number" },
        },
        required: ["name", "type"],
        additionalProperties: false,
      },
    },
  },
  required: ["question"],
  check: HumanQuestion.parse,
});
