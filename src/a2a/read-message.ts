import type { Message, SendMessageRequest } from "@a2a-js/sdk";
import { AgentId, isJsonObject, Json, type Agent, type SentApproval } from "#kernel";
import type { MountedDecision } from "#server";
import type { A2aPackage } from "./a2a-package.ts";

/** Characters of a message, all of its texts together. */
const maxText = 500_000;

/** Returns the message of a request. @throws RequestMalformedError if it has none. */
export function readMessage({ errors }: A2aPackage, { message }: SendMessageRequest): Message {
  if (!message) throw new errors.RequestMalformedError("params.message is missing");
  return message;
}

/** Returns the texts of a message as the input of a run. @throws ContentTypeNotSupportedError for other parts. */
export function readMessageText({ errors }: A2aPackage, { parts }: Message): string {
  const texts = parts.map(({ content }) => {
    if (content?.$case !== "text")
      throw new errors.ContentTypeNotSupportedError("the first message of a task may have only text parts");
    return content.value;
  });
  const text = texts.join("\n");
  if (text === "" || text.length > maxText)
    throw new errors.RequestMalformedError(
      `a message must have 1 to ${maxText} characters of text, got ${text.length}`,
    );
  return text;
}

/**
 * Returns the agent that a message is for: the one that `metadata.skill` names, else the first.
 * @throws RequestMalformedError for a skill that is not offered.
 */
export function chooseAgent({ errors }: A2aPackage, agents: readonly Agent[], { metadata }: Message): Agent {
  const skill: unknown = metadata?.["skill"];
  const found = skill === undefined ? agents[0] : agents.find(({ id }) => AgentId.type(id) === skill);
  if (found) return found;
  const known = agents.map(({ id }) => AgentId.type(id)).join(", ");
  throw new errors.RequestMalformedError(`metadata.skill must be one of ${known}`);
}

/**
 * Reads a message as a decision about a question: data with `decision`, or the answer itself if the question expects
 * one. @throws RequestMalformedError if it is neither.
 */
export function readDecision(
  { errors }: A2aPackage,
  { parts }: Message,
  questions: readonly SentApproval[],
): MountedDecision {
  const data = parts.find(({ content }) => content?.$case === "data")?.content?.value;
  const given: Json = data === undefined ? null : Json.of(data);
  const fields = isJsonObject(given) ? given : {};
  const { approval, decision } = fields;
  const question =
    approval === undefined
      ? questions.length === 1
        ? questions[0]
        : undefined
      : questions.find(({ id }) => id === approval);
  if (!question) {
    const open = questions.map(({ id }) => id).join(", ");
    throw new errors.RequestMalformedError(`approval must be one of the open questions: ${open}`);
  }
  if (decision === "approved" || decision === "denied" || decision === "edited")
    return { approval: question.id, decision, arguments: fields["arguments"] };
  if (!question.asks)
    throw new errors.RequestMalformedError(
      "this question requires a data part with decision: approved, denied, or edited with arguments",
    );
  const texts = parts.flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []));
  return { approval: question.id, decision: "edited", arguments: given ?? texts.join("\n") };
}
