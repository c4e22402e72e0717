// Approval questions of a tree in the form of MCP, and the client's answers.
//
// A question of a tool is a form with its own fields, or with the single field `answer`. Every other question is
// whether a call may be made: a form with the field `decision`. An empty form approves nothing.
import {
  ApprovalRefusedError,
  HumanQuestion,
  isJsonObject,
  Json,
  type SentApproval,
  type JsonObject,
  type QuestionField,
} from "#kernel";
import type { MountedDecision } from "#server";

/** Returns the open questions as requests of the protocol, by their ids. One that cannot be read is left out. */
export function toInputRequests(questions: readonly SentApproval[]): JsonObject {
  const requests = questions.flatMap((question): (readonly [string, Json])[] => {
    const params = toForm(question);
    return params ? [[question.id, { method: "elicitation/create", params }]] : [];
  });
  return Object.fromEntries(requests);
}

function toForm({ agentId, tool, why, arguments: given, asks }: SentApproval): JsonObject | null {
  if (!asks) {
    const message = `${agentId} asks for approval of ${tool} (${why}): ${JSON.stringify(given)}`;
    const decision = { type: "string", enum: ["approved", "denied"] };
    return toParams(message, { decision }, ["decision"]);
  }
  const question = HumanQuestion.parse(given);
  if (typeof question === "string") return null;
  const fields = question.fields ?? [toAnswerField(question)];
  const properties = Object.fromEntries(fields.map((field) => [field.name, toProperty(field)]));
  const required = fields.filter(({ optional }) => !optional).map(({ name }) => name);
  return toParams(question.question, properties, required);
}

/** The field of a question that has no form. */
const toAnswerField = ({ choices }: HumanQuestion): QuestionField => ({
  name: "answer",
  type: "text",
  ...(choices && { choices }),
});

const toParams = (message: string, properties: JsonObject, required: readonly string[]): JsonObject => ({
  mode: "form",
  message,
  requestedSchema: { type: "object", properties, required: [...required] },
});

function toProperty({ type, description, choices, min, max }: QuestionField): JsonObject {
  const about = description === undefined ? {} : { description };
  const values = choices && { enum: [...choices] };
  if (type === "boolean") return { type, ...about };
  if (type === "list")
    return { type: "array", items: { type: "string", ...values }, ...limits("Items", min, max), ...about };
  if (type !== "text") return { type, ...limits("imum", min, max), ...about };
  const length = choices ? {} : limits("Length", min ?? 1, max ?? HumanQuestion.maxTextLength);
  return { type: "string", ...values, ...length, ...about };
}

const limits = (suffix: string, min: number | undefined, max: number | undefined): JsonObject => ({
  ...(min !== undefined && { [`min${suffix}`]: min }),
  ...(max !== undefined && { [`max${suffix}`]: max }),
});

/**
 * Reads the answer of a client to a question. Null if it decides nothing, such as a closed form.
 * @throws ApprovalRefusedError if it was accepted without a decision.
 */
export function readResponse(question: SentApproval, response: unknown): MountedDecision | null {
  const given = Json.of(response);
  const { action, content = null } = isJsonObject(given) ? given : {};
  const approval = question.id;
  if (action === "decline") return { approval, decision: "denied" };
  if (action !== "accept") return null;
  const fields = isJsonObject(content) ? content : {};
  if (!question.asks) {
    const { decision } = fields;
    if (decision === "approved" || decision === "denied") return { approval, decision };
    const problem = "content.decision must be approved or denied";
    throw new ApprovalRefusedError({ approval, reason: "wrong-answer", problem });
  }
  const asked = HumanQuestion.parse(question.arguments);
  const hasForm = typeof asked !== "string" && asked.fields !== undefined;
  return { approval, decision: "edited", arguments: hasForm ? fields : (fields["answer"] ?? null) };
}
