import { ReeveError } from "./errors.ts";
import { HumanQuestion } from "./human-question.ts";
import type { AgentId, ApprovalId, RunId, TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { LabelSource } from "./labels.ts";
import type { Micros } from "./money.ts";
import type { Risk } from "./permission.ts";

/** A question to a person: may this call be made, with exactly these arguments? Or one that a tool asks. */
export interface ApprovalRequest {
  readonly id: ApprovalId;
  readonly treeId: TreeId;
  readonly runId: RunId;
  /** Who wants to make it. */
  readonly agentId: AgentId;
  readonly tool: string;
  readonly risk: Risk;
  /** Null once the tree's words are erased. */
  readonly arguments: Json;
  /** Of tree, run, tool and arguments: a decision that names another one is refused. */
  readonly hash: string;
  readonly why: string;
  /**
   * A tool asks, and the arguments are its `HumanQuestion`: only an answer, as `edited` arguments, or a denial settles it.
   * It is never remembered, and no remembered approval answers it.
   */
  readonly asks?: true | undefined;
  /** Asked because untrusted and private content meet. An approval remembered from before does not cover it. */
  readonly ruleOfTwo?: true | undefined;
  /** The first sources of the untrusted and private content that meet: at most 20. Absent: none is known. */
  readonly sources?: readonly LabelSource[] | undefined;
  /** The name of the tree. Absent: it has none. */
  readonly treeName?: string | undefined;
  /** The runs above the one that asks, root first. Absent: there are none. */
  readonly parents?: readonly ApprovalParent[] | undefined;
  readonly requestedAt: number;
  /** No decision counts after it. */
  readonly expiresAt: number;
  /** What the whole tree had spent when it was asked. */
  readonly spentMicros: Micros;
}

/** A run above the one that asks. */
interface ApprovalParent {
  readonly runId: RunId;
  readonly agentId: AgentId;
}

/** What somebody who may decide says. */
export interface ApprovalAnswer {
  readonly decision: "approved" | "denied" | "edited";
  /** Who says so, for the audit. */
  readonly by: string;
  /** The other arguments that the tool is called with, or the answer to its question. Only where `edited`. */
  readonly arguments?: Json | undefined;
  /** What the model is told. */
  readonly reason?: string | undefined;
  /** Approve every further call of this tool by this run. Default false. */
  readonly remember?: boolean | undefined;
  /** The hash of what the person saw. Default: whatever was asked under this id. */
  readonly hash?: string | undefined;
}

/** Readers of {@link ApprovalAnswer}. */
export const ApprovalAnswer = {
  /** Finds why a decision does not settle what was asked; null: it does. */
  findProblem: (
    { asks, arguments: question }: Pick<ApprovalRequest, "asks" | "arguments">,
    { decision, arguments: given }: Pick<ApprovalDecision, "decision" | "arguments">,
  ): Pick<ApprovalRefusedError, "reason" | "problem"> | null => {
    if (decision === "approved" && asks) return { reason: "no-answer", problem: undefined };
    if (decision !== "edited") return null;
    if (given === undefined) return { reason: "no-arguments", problem: undefined };
    const problem = asks ? HumanQuestion.checkAnswer(question, given) : null;
    return problem === null ? null : { reason: "wrong-answer", problem };
  },
} as const;

/** How a question was settled: by somebody, or by the clock. */
export interface ApprovalDecision extends Omit<ApprovalAnswer, "decision" | "hash"> {
  readonly decision: ApprovalAnswer["decision"] | "expired";
  readonly at: number;
}

/** A decision without its content. */
export type SettledDecision = Pick<ApprovalDecision, "decision" | "by" | "at">;

/** A question, and what became of it. */
export interface ApprovalRecord extends ApprovalRequest {
  /** Null while pending. */
  readonly decision: ApprovalDecision | null;
}

/** Code that decides instead of a person. Throwing, no answer in a minute, or one that is none: denied. */
export type Approver = (
  request: ApprovalRequest,
  call: { readonly signal: AbortSignal },
) => Promise<Omit<ApprovalAnswer, "by" | "hash">> | Omit<ApprovalAnswer, "by" | "hash">;

/** A decision that does not count. */
export class ApprovalRefusedError extends ReeveError {
  readonly code = "approval-refused";
  readonly approval: string;
  readonly reason:
    | "decided"
    | "expired"
    | "run-ended"
    | "other-arguments"
    | "no-arguments"
    /** A question was approved without an answer. */
    | "no-answer"
    /** An answer does not fit the choices or the form of its question. */
    | "wrong-answer";
  /** The problem of an answer. Absent: the reason says it. */
  readonly problem: string | undefined;
  /** The decision that counts, without its content. Absent: there is none. */
  readonly decided: SettledDecision | undefined;

  constructor(fields: {
    readonly approval: string;
    readonly reason: ApprovalRefusedError["reason"];
    readonly problem?: string | undefined;
    readonly decided?: SettledDecision | undefined;
  }) {
    const { approval, reason, problem, decided } = fields;
    super(
      `the decision on ${approval} does not count: ${reason}${problem === undefined ? "" : ` (${problem})`}`,
    );
    this.approval = approval;
    this.reason = reason;
    this.problem = problem;
    this.decided = decided && { decision: decided.decision, by: decided.by, at: decided.at };
  }
}
