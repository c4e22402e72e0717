import { ReeveError } from "./errors.ts";
import { HumanQuestion } from "./human-question.ts";
import type { AgentId, ApprovalId, RunId, TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { LabelSource } from "./labels.ts";
import type { Micros } from "./money.ts";
import type { Risk } from "./permission.ts";

/** A question to a person: may this call be made with exactly these arguments? Or a question that a tool asks. */
export interface ApprovalRequest {
  readonly id: ApprovalId;
  readonly treeId: TreeId;
  readonly runId: RunId;
  /** The agent that makes the call. */
  readonly agentId: AgentId;
  readonly tool: string;
  readonly risk: Risk;
  /** Null once the tree's content is erased. */
  readonly arguments: Json;
  /**
   * Hash of tree, run, tool and arguments. A decision with another hash is refused. It is keyed with a secret of the tree
   * that is destroyed with its content, so it tells no arguments to a reader who may not see them.
   */
  readonly hash: string;
  readonly why: string;
  /**
   * A tool asks, and the arguments are its `HumanQuestion`: only an answer, as `edited` arguments, or a denial settles it.
   * It is never remembered, and no remembered approval answers it.
   */
  readonly asks?: true | undefined;
  /**
   * Set if the approval is required because untrusted and private content meet. A remembered approval does not cover
   * it.
   */
  readonly ruleOfTwo?: true | undefined;
  /** The first sources of the untrusted and private content that meet: at most 20. Absent: none is known. */
  readonly sources?: readonly LabelSource[] | undefined;
  /** The name of the tree. Absent: it has none. */
  readonly treeName?: string | undefined;
  /** Ancestors of the run that asks, root first. Absent: none. */
  readonly parents?: readonly ApprovalParent[] | undefined;
  readonly requestedAt: number;
  /** Decisions after this moment do not count. */
  readonly expiresAt: number;
  /** Cost of the whole tree when the question was asked. */
  readonly spentMicros: Micros;
}

/** An ancestor of the run that asks. */
interface ApprovalParent {
  readonly runId: RunId;
  readonly agentId: AgentId;
}

/** A decision of a person or a program that may decide. */
export interface ApprovalAnswer {
  readonly decision: "approved" | "denied" | "edited";
  /** The decider's name, for the audit. */
  readonly by: string;
  /** Replacement arguments for the tool, or the answer to its question. Only with `edited`. */
  readonly arguments?: Json | undefined;
  /** A reason that the model is shown. */
  readonly reason?: string | undefined;
  /** Whether every further call of this tool by this run is approved. Default: false. */
  readonly remember?: boolean | undefined;
  /** Hash of the request that the person saw. Default: that of the pending request with this id. */
  readonly hash?: string | undefined;
}

/** Readers of {@link ApprovalAnswer}. */
export const ApprovalAnswer = {
  /** Returns the reason why a decision does not settle the request. Null: it does. */
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

/** The settled state of a request: decided by an approver, or expired. */
export interface ApprovalDecision extends Omit<ApprovalAnswer, "decision" | "hash"> {
  readonly decision: ApprovalAnswer["decision"] | "expired";
  readonly at: number;
}

/** A decision without its content. */
export type SettledDecision = Pick<ApprovalDecision, "decision" | "by" | "at">;

/** An approval request and its decision. */
export interface ApprovalRecord extends ApprovalRequest {
  /** Null while pending. */
  readonly decision: ApprovalDecision | null;
}

/** An approval as a server sends it. */
export interface SentApproval extends ApprovalRecord {
  /** Set if the caller may not read content: the arguments are null, and the decision has no reason. */
  readonly withheld?: true | undefined;
}

/**
 * Code that decides instead of a person. The call is denied if it throws, times out after a minute, or returns no
 * decision.
 */
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
    /** The answer does not match the choices or the form of its question. */
    | "wrong-answer";
  /** The problem of an answer. Absent: the reason is enough. */
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
      `the decision on ${approval} was not accepted: ${reason}${problem === undefined ? "" : ` (${problem})`}`,
    );
    this.approval = approval;
    this.reason = reason;
    this.problem = problem;
    this.decided = decided && { decision: decided.decision, by: decided.by, at: decided.at };
  }
}
