import {
  ApprovalId,
  isJsonObject,
  SessionId,
  type Input,
  type Json,
  type JsonObject,
  type TreeId,
} from "#kernel";
import { labels } from "../content-shapes.ts";
import { refuseRequest, shape } from "../shape.ts";
import { readInput } from "./chat-input.ts";

/** The body that `useChat` sends. */
export const chatBody = shape.object({
  id: shape.id(SessionId.of, "a chat"),
  messages: shape.list(shape.record()),
  trigger: shape.optional(shape.oneOf(["submit-message", "regenerate-message"])),
  messageId: shape.optional(shape.text()),
  labels: shape.optional(labels),
});

/** A decision on a call that waits for approval. */
interface ChatAnswer {
  readonly approval: ApprovalId;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
}

/** The request of the newest chat message: a new input, or answers to approval questions. */
export type ChatTurn =
  | { readonly kind: "say"; readonly message: string; readonly input: Input }
  | {
      readonly kind: "answer";
      readonly tree: TreeId;
      readonly answers: readonly ChatAnswer[];
      /** Every question in the message, answered or not: the client has seen everything up to the last one. */
      readonly shown: readonly ApprovalId[];
    };

/** Reads the newest message. Earlier messages are ignored: the server stores the conversation. @throws HttpError */
export function readTurn(messages: readonly JsonObject[]): ChatTurn {
  const last = messages.at(-1);
  const parts = last?.["parts"];
  if (!last || !Array.isArray(parts)) return refuseRequest("messages", "the last message must have parts");
  const at = "messages.parts";
  const found = parts.map((part: Json) =>
    isJsonObject(part) ? part : refuseRequest(at, "each part must be an object"),
  );
  if (last["role"] === "user") {
    const message = shape.text().decode(last["id"], "messages.id");
    return { kind: "say", message, input: readInput(found) };
  }
  if (last["role"] !== "assistant")
    return refuseRequest("messages", "the last message must have the role user or assistant");
  const approvals = found.flatMap(({ approval, state }) =>
    isJsonObject(approval) ? [{ approval, state }] : [],
  );
  const shown = approvals.map(({ approval }) => approvalOf(approval["id"]));
  const answers = approvals
    .filter(({ state }) => state === "approval-responded")
    .map(({ approval }) => readAnswer(approval));
  const [tree, ...others] = new Set(shown.map((id) => ApprovalId.tree(id)));
  if (answers.length === 0 || tree === undefined || others.length > 0)
    return refuseRequest("messages", "the last assistant message must answer approvals of one tree");
  return { kind: "answer", tree, answers, shown };
}

function readAnswer(approval: JsonObject): ChatAnswer {
  const { approved, reason } = approval;
  const isApproved = shape.flag().decode(approved, "approval.approved");
  const why = shape.optional(shape.text({ max: 10_000 })).decode(reason ?? undefined, "approval.reason");
  return { approval: approvalOf(approval["id"]), isApproved, reason: why };
}

const approvalOf = (id: unknown): ApprovalId =>
  shape.id(ApprovalId.parse, "an approval").decode(id, "approval.id");
