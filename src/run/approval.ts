import {
  ApprovalAnswer,
  ApprovalId,
  type ApprovalDecision,
  type ApprovalRequest,
  Json,
  type Approver,
  type Risk,
  type Tool,
  type ToolAnswer,
} from "#kernel";
import { withTimeout } from "#base";
import { TreeSecret, type Question } from "#tree";
import type { RunServices } from "./run-services.ts";
import { runJournaled, placeStep, type StepRef } from "./step.ts";

const approverTimeoutMs = 60_000;
const answers: ReadonlySet<unknown> = new Set(["approved", "denied", "edited"]);

/** A tool call that needs approval, or whose tool asks a person. */
interface ApprovalNeeded {
  /** The step that raised the question. Its position and the number of its execution identify it. */
  readonly step: { readonly place: StepRef; readonly executions: number };
  readonly tool: Tool;
  /** The tool's risk when the question was raised. */
  readonly risk: Risk;
  /** The exact input to execute. The question, if the tool asks. */
  readonly input: Json;
  readonly why: string;
  readonly asks?: true | undefined;
  readonly ruleOfTwo?: true | undefined;
  /** The model's id for the call. */
  readonly callId: string | undefined;
}

/** Waits, across restarts, until there is a decision or the question has expired. */
export async function askForApproval(
  services: RunServices,
  { step, tool, risk, input, why, asks, ruleOfTwo, callId }: ApprovalNeeded,
): Promise<ApprovalDecision> {
  const { driver } = services.engine;
  const { treeId, runId } = services.identity.scope;
  const { approver, approvalExpiresS } = services.policy.launch;
  const id = ApprovalId.of(step.place.id, step.executions - 1);
  const print = TreeSecret.keyedHash(
    services.identity.secret,
    JSON.stringify(["approval", treeId, runId, tool.name, input]),
  );
  const expiresAt = driver.time + approvalExpiresS * 1000;
  const call = { tool: tool.name, risk, arguments: input, hash: print };
  const sources = ruleOfTwo && services.state.labels.now.sources;
  const kind = { ...(asks && { asks }), ...(ruleOfTwo && { ruleOfTwo }), ...(sources && { sources }) };
  const approval = { id, ...call, why, expiresAt, ...kind };
  const known = await driver.report("requestApproval", { approval: { ...approval, callId } });
  return known ?? (approver === "code" ? askCode(services, approval) : askPerson(services, approval));
}

async function askPerson(
  services: RunServices,
  { id, hash: askedHash, expiresAt }: Question,
): Promise<ApprovalDecision> {
  const { driver } = services.engine;
  const key = `approval/${id}`;
  const arrival = await driver.waits.first([key], { at: expiresAt });
  driver.waits.close(key);
  if (arrival.key === "timeout") return settleApproval(services, id, { decision: "expired", by: "clock" });
  const { decision, hash: decidedHash } = Json.as<{
    readonly decision: ApprovalDecision;
    readonly hash: string;
  }>(arrival.value);
  // The tree keeps the question. A decision about another question does not count for this one.
  return decidedHash === askedHash ? decision : { decision: "denied", by: decision.by, at: decision.at };
}

/** Asks the approver's code, in a separate step. Anything but a clear approval is a denial. */
async function askCode(services: RunServices, question: Question): Promise<ApprovalDecision> {
  const { engine, identity, policy } = services;
  const { treeId, runId } = identity.scope;
  const { approver } = policy;
  const request: ApprovalRequest = {
    ...question,
    treeId,
    runId,
    agentId: identity.agentId,
    requestedAt: engine.driver.time,
    spentMicros: 0,
  };
  const place = placeStep(engine, "approve", question.hash);
  const { answer } = await runJournaled(services, place, async ({ signal }) => {
    // The run was launched where code decides, but this worker may have no such code.
    if (!approver) return { answer: refused };
    const limit = { clock: engine.clock, ms: approverTimeoutMs, signal, onTimeout: () => refused };
    const asking = withTimeout<Answer>(limit, async (limited) =>
      approver(request, { signal: limited.signal }),
    );
    const given = await asking.then(toAnswer, () => refused);
    return { answer: ApprovalAnswer.findProblem(question, given) ? refused : given };
  });
  return settleApproval(services, question.id, { ...answer, by: "approver" });
}

type Answer = Awaited<ReturnType<Approver>>;

const refused: Answer = { decision: "denied" };

function toAnswer(answer: Answer): Answer {
  if (!answers.has(answer?.decision)) return refused;
  const { decision, arguments: edited, reason, remember } = answer;
  return { decision, arguments: edited, reason, remember: remember === true };
}

/** Reports the decision to the tree, which knows whether there was an earlier one. */
function settleApproval(
  { engine: { driver } }: RunServices,
  approval: ApprovalId,
  answer: Omit<ApprovalDecision, "at">,
): Promise<ApprovalDecision> {
  driver.waits.close(`approval/${approval}`);
  return driver.call("decideApproval", { ...answer, approval, operationId: approval, at: driver.time });
}

/** Returns the input that a decision allows, or the reason why the call is not made. */
export function toApprovedInput(
  { decision, by, arguments: edited, reason }: ApprovalDecision,
  input: Json,
): { readonly input: Json; readonly approved: "approved" | "edited" } | { readonly refusal: string } {
  if (decision === "approved") return { input, approved: decision };
  if (decision === "edited") return { input: edited ?? null, approved: decision };
  const why = decision === "expired" ? "no approval in time" : `${by} denied it`;
  return { refusal: `not called: ${why}${reason === undefined ? "" : `: ${reason}`}` };
}

/** Returns the answer that a decision gives to the question of a tool. */
export function toToolAnswer({
  decision,
  by,
  arguments: content = null,
  reason,
}: ApprovalDecision): ToolAnswer {
  if (decision === "edited") return { decision: "answered", content };
  if (decision === "expired") return { decision, reason: "no answer in time" };
  return { decision: "declined", reason: `${by} did not answer${reason === undefined ? "" : `: ${reason}`}` };
}
