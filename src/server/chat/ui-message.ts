import {
  type ApprovalId,
  type AttemptId,
  type Json,
  Money,
  type ReeveEvent,
  type RunId,
  type RunResult,
  StepId,
} from "#kernel";
import type { RunDelta, ToolUpdate } from "#runtime";
import { type UiChunk, UiSteps } from "./ui-steps.ts";

/**
 * Limit of pieces that wait for their `model.start`. Further pieces are dropped: the end of the tree brings the whole
 * answer.
 */
const mostHeld = 10_000;

/**
 * Builds one UI message from one tree. Events define the order; pieces of answers follow the `model.start` of their
 * attempt. Text of the root run becomes text parts. Its tool calls become parts, as do all approval questions of the
 * tree. The tree's output is authoritative: it replaces pieces that differ.
 */
export class UiMessage {
  readonly #root: RunId;
  readonly #steps = new UiSteps();
  /** Parts of calls that are not over. */
  readonly #calls = new Set<string>();
  readonly #asked = new Map<ApprovalId, string>();
  #held: RunDelta[] = [];
  #attempt: AttemptId | null = null;

  constructor(root: RunId) {
    this.#root = root;
  }

  /** Whether an approval question is shown. */
  shows(approval: ApprovalId): boolean {
    return this.#asked.has(approval);
  }

  take(event: ReeveEvent): readonly UiChunk[] {
    const isRoot = event.runId === this.#root;
    if (event.type === "model.start" && isRoot) return this.#start(event);
    if (event.type === "model.end" && event.attempt === this.#attempt && !event.error) this.#steps.endCall();
    if (event.type === "tool.start" && isRoot) return this.#announce(toPartId(event), event.tool, {});
    if (event.type === "tool.end") return this.#calls.delete(toPartId(event)) ? [resultOf(event)] : [];
    return event.type === "approval.decided" ? this.#decide(event) : [];
  }

  /** Adds a call that waits for approval. */
  ask(event: ReeveEvent<"approval.requested">, input: Json): readonly UiChunk[] {
    const { approvalId, tool, why } = event;
    const toolCallId = toPartId({ runId: event.runId, callId: event.callId ?? approvalId });
    this.#asked.set(approvalId, toolCallId);
    const announced = this.#announce(toolCallId, tool, input);
    return [...announced, { type: "tool-approval-request", approvalId, toolCallId, reason: why }];
  }

  applyDelta(delta: RunDelta): readonly UiChunk[] {
    const { runId, attempt, kind, text, update } = delta;
    if (update && runId === this.#root) return [updateOf(runId, update)];
    if (runId !== this.#root || (kind !== "text" && kind !== "reasoning")) return [];
    if (attempt === this.#attempt) return this.#steps.say(kind, text);
    if (this.#held.length < mostHeld) this.#held.push(delta);
    return [];
  }

  /** Ends the stream while the tree waits for an approval. */
  pause(): readonly UiChunk[] {
    return [...this.#steps.close(), { type: "finish", finishReason: "tool-calls" }];
  }

  /** The tree is over. */
  end({ output, status, stopReason, costMicros, error }: RunResult): readonly UiChunk[] {
    const said = typeof output === "string" ? this.#steps.conclude(output) : this.#steps.close();
    const isData = typeof output !== "string" && output !== null;
    const errorText = error?.message ?? error?.code ?? stopReason;
    return [
      ...said,
      ...(isData ? [{ type: "data-output", data: output }] : []),
      ...this.#steps.leave(),
      ...(status === "failed" ? [{ type: "error", errorText }] : []),
      ...(status === "cancelled" ? [{ type: "abort", reason: stopReason }] : []),
      {
        type: "finish",
        finishReason: finishReasons[status],
        messageMetadata: { status, stopReason, costUsd: Money.usd(costMicros) },
      },
    ];
  }

  /** Model calls of judges and summaries are not shown to the user. */
  #start({ attempt, step }: ReeveEvent<"model.start">): readonly UiChunk[] {
    return attempt !== null && StepId.kind(step) === "model" ? this.#begin(attempt) : [];
  }

  #begin(attempt: AttemptId): readonly UiChunk[] {
    const entered = this.#steps.begin();
    this.#attempt = attempt;
    const held = this.#held.filter((delta) => delta.attempt === attempt);
    // When earlier events are replayed, pieces of a later call arrive before its `model.start`.
    this.#held = this.#held.filter((delta) => delta.attempt !== attempt);
    return [...entered, ...held.flatMap((delta) => this.applyDelta(delta))];
  }

  #announce(toolCallId: string, toolName: string, input: Json): readonly UiChunk[] {
    if (this.#calls.has(toolCallId)) return [];
    this.#calls.add(toolCallId);
    const call = { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
    return [...this.#steps.close(), ...this.#steps.tool(), call];
  }

  #decide({ approvalId, decision }: ReeveEvent<"approval.decided">): readonly UiChunk[] {
    const toolCallId = this.#asked.get(approvalId);
    if (toolCallId === undefined) return [];
    const approved = decision === "approved" || decision === "edited";
    const response = { type: "tool-approval-response", approvalId, approved };
    if (approved) return [response];
    this.#calls.delete(toolCallId);
    return [response, { type: "tool-output-denied", toolCallId }];
  }
}

/** Unique in a step of a message, which is all that is asked for. */
const toPartId = ({ runId, callId }: { readonly runId: RunId; readonly callId: string }): string =>
  `${runId}:${callId}`;

/** The progress of a call, as a part of its own: the same id takes the place of the part before. */
function updateOf(runId: RunId, { tool, callId, progress }: ToolUpdate): UiChunk {
  const toolCallId = toPartId({ runId, callId });
  return { type: "data-tool-update", id: toolCallId, data: { tool, toolCallId, progress } };
}

/** Events do not hold a tool's input and output, only that it was called. */
function resultOf(event: ReeveEvent<"tool.end">): UiChunk {
  const { status, durationMs } = event;
  const toolCallId = toPartId(event);
  if (status === "ok") return { type: "tool-output-available", toolCallId, output: { status, durationMs } };
  const errorText = status === "error" ? "the tool failed" : "the outcome of the call is unknown";
  return { type: "tool-output-error", toolCallId, errorText };
}

const finishReasons = { completed: "stop", landed: "length", failed: "error", cancelled: "other" } as const;
