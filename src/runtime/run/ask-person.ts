import { hash } from "node:crypto";
import {
  ApprovalId,
  type ApprovalDecision,
  type ApprovalRequest,
  Json,
  type Approver,
  type Tool,
} from "#kernel";
import type { Question } from "../tree/records.ts";
import { journaled, placeStep, type StepPlace } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";
import { within } from "./within.ts";

const approverTimeoutMs = 60_000;
const answers: ReadonlySet<unknown> = new Set(["approved", "denied", "edited"]);

const late = (): Error => new Error("no answer in time");

/** What somebody has to decide about. */
export interface Asked {
  readonly tool: Tool;
  /** Exactly what would be executed. */
  readonly input: Json;
  readonly why: string;
  readonly ruleOfTwo?: true | undefined;
  /** The model's own name for the call. */
  readonly callId: string | undefined;
  /** The how many-th question about this call. */
  readonly round: number;
}

/** Waits, as long as it takes and through every restart, until somebody has decided or the question has expired. */
export async function askPerson(host: ToolHost, place: StepPlace, asked: Asked): Promise<ApprovalDecision> {
  const { driver, observer, scope } = host;
  const { tool, input, why, ruleOfTwo } = asked;
  const id = ApprovalId.at(place.id, asked.round);
  const print = hash("sha256", JSON.stringify([scope.treeId, scope.runId, tool.name, input]));
  const expiresAt = driver.time + host.approvals.expiresS * 1000;
  const call = { tool: tool.name, risk: tool.risk, arguments: input, hash: print };
  const approval = { id, ...call, why, expiresAt, ...(ruleOfTwo && { ruleOfTwo }) };
  const { callId } = asked;
  const known = await driver.report("requestApproval", { approval: { ...approval, callId } });
  observer.seenLive("approval.requested", { approvalId: id, tool: tool.name, why, callId }, `asked/${id}`);
  const { approver } = host.approvals;
  const decision =
    known ??
    (await (typeof approver === "function" ? byCode(host, approver, approval) : byPerson(host, approval)));
  const { decision: word, by } = decision;
  observer.seenLive("approval.decided", { approvalId: id, decision: word, by }, `decided/${id}`);
  return decision;
}

async function byPerson(host: ToolHost, { id, hash: print, expiresAt }: Question): Promise<ApprovalDecision> {
  const { driver } = host;
  const key = `approval/${id}`;
  const arrival = await driver.waits.first([key], { at: expiresAt });
  driver.waits.close(key);
  if (arrival.key === "timeout") return settle(host, id, { decision: "expired", by: "clock" });
  const { decision, hash: seen } = Json.as<{ readonly decision: ApprovalDecision; readonly hash: string }>(
    arrival.value,
  );
  // The tree keeps what was asked; were it another question, it is no answer to this one.
  return seen === print ? decision : { decision: "denied", by: decision.by, at: decision.at };
}

/** Asks code, in a step of its own. Anything but a clear yes is a no. */
async function byCode(host: ToolHost, approver: Approver, question: Question): Promise<ApprovalDecision> {
  const { scope, agentId, driver, clock } = host;
  const request: ApprovalRequest = {
    ...question,
    treeId: scope.treeId,
    runId: scope.runId,
    agentId,
    requestedAt: driver.time,
    spend: 0,
  };
  const place = placeStep(host, "approve", question.hash);
  const { answer } = await journaled(host, place, async ({ signal }) => {
    const said = within(clock, { ms: approverTimeoutMs, signal, late }, async (limited) =>
      approver(request, { signal: limited.signal }),
    );
    return { answer: await said.then(checked, () => refused) };
  });
  return settle(host, question.id, { ...answer, by: "approver" });
}

type Answer = Awaited<ReturnType<Approver>>;

const refused: Answer = { decision: "denied" };

function checked(answer: Answer): Answer {
  if (!answers.has(answer?.decision)) return refused;
  const { decision, arguments: edited, reason, remember } = answer;
  if (decision === "edited" && edited === undefined) return refused;
  return { decision, arguments: edited, reason, remember: remember === true };
}

/** Tells the tree, which knows whether somebody was faster. */
function settle(
  { driver }: ToolHost,
  approval: ApprovalId,
  answer: Omit<ApprovalDecision, "at">,
): Promise<ApprovalDecision> {
  driver.waits.close(`approval/${approval}`);
  return driver.call("decideApproval", { ...answer, approval, operationId: approval, at: driver.time });
}

/** What an answer changes about the call: it may be made, with these arguments, or not at all. */
export function answered(
  { decision, by, arguments: edited, reason }: ApprovalDecision,
  input: Json,
): { readonly input: Json; readonly approved: "approved" | "edited" } | { readonly refusal: string } {
  if (decision === "approved") return { input, approved: decision };
  if (decision === "edited") return { input: edited ?? null, approved: decision };
  const why = decision === "expired" ? "nobody approved it in time" : `${by} denied it`;
  return { refusal: `not called: ${why}${reason === undefined ? "" : `: ${reason}`}` };
}
