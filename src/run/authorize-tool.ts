// Authorization of a tool call: may it be made, and with which input?
//
// Job: repeat a tool's step until the call is refused or has been made. Inside the step: validate the input, ask the
// permissions, check the guardrails, then perform the call. Between two executions of the step: ask for approval.
// Neighbours: tool-step uses it for both kinds of tool; it uses gated-step (the step) and approval (the question).
//
// Invariants:
// 1. The checked input is a frozen copy of the schema's output, and is the input that is used.
// 2. A call without permission, without consent of the guardrails or without a required approval is never made.
//    Anything but a clear approval is a refusal.
// 3. An approval covers exactly the input that was shown. An edited input is checked like a new one. An approved one is
//    not, but the permissions are asked again: they may deny it by now.
// 4. A question has its own id: the step's position and the number of the execution that raised it.
// 5. A call whose tool asks a person, or needs time, is executed again with the state of its last execution: same
//    input, same position.
// 6. A call whose outcome is unknown is repeated only after a decision about that lost attempt.
// 7. Only the step's record decides: a replay takes the same path without asking anything.
import {
  GuardrailHalt,
  Labels,
  ToolRefusedError,
  type AttemptId,
  type Json,
  type PermissionRequest,
  type Risk,
  type Tool,
  type PermissionDecision,
} from "#kernel";
import { copyPlainJson, deepFreeze, issueText, safeMessage } from "#base";
import { applyRules, pickStricter, decidePermission } from "#agents";
import { askForApproval, toApprovedInput } from "./approval.ts";
import {
  checkGuardrails,
  type GatedStep,
  type StepExecution,
  type StepResult,
  type StepStop,
} from "./gated-step.ts";
import { toGuardedTool, type GuardrailLog } from "./guardrails.ts";
import { refuseDisabledTool } from "./held-step.ts";
import type { RunServices } from "./run-services.ts";
import type { StepRecord } from "./step.ts";
import { toUnknownText } from "./tool-outcome.ts";
import { awaitResumption, type Resumption, type UnfinishedCall } from "./unfinished-call.ts";

/** A requested tool call. */
export interface ToolCall<AnyTool extends Tool = Tool> {
  readonly step: GatedStep;
  readonly tool: AnyTool;
  readonly input: Json;
  /** The model's id for the call. */
  readonly callId: string | undefined;
}

/** The progress of a call. */
interface PendingCall {
  readonly input: Json;
  /** Whether this exact input was approved, or written by the approver. Null: neither. */
  readonly approved: "approved" | "edited" | null;
  /** The warnings for the model from the checks before an approval. */
  readonly warnings?: readonly string[] | undefined;
  /** The lost attempt after which the call may be repeated. */
  readonly rerun?: AttemptId | undefined;
  /** The state of its last execution, if that did not finish the call. */
  readonly resumption?: Resumption | undefined;
}

interface Checks {
  /** The log of the guardrails. */
  readonly heard?: GuardrailLog | undefined;
  /** The warnings for the model. */
  readonly warnings?: readonly string[] | undefined;
}

/** A call that may be made, with its checked input. */
export interface AllowedCall extends Checks {
  readonly kind: "allowed";
  readonly value: Json;
}

/** A call that needs approval, with the input that would be used. */
interface Question extends Checks {
  readonly kind: "ask";
  readonly value: Json;
  readonly risk: Risk;
  readonly why: string;
  readonly ruleOfTwo?: true | undefined;
}

/** A call that is not made, with the message for the model. */
export interface RefusedCall extends Checks {
  readonly kind: "refused";
  readonly refusal: string;
  /** Whether a policy denied it. If not, its input is invalid. */
  readonly isDenied: boolean;
}

/** A call over which a guardrail ends the run. */
interface HaltedCall extends Checks {
  readonly kind: "halted";
  readonly guardrail: string;
  readonly reason: string;
}

/** A call whose outcome is unknown, to be decided by approval. */
export interface CallInDoubt extends Checks {
  readonly kind: "in-doubt";
  readonly lost: AttemptId;
  readonly risk: Risk;
}

type Decision = AllowedCall | Question | RefusedCall | HaltedCall;

/** A decision without a result. */
type OpenDecision = Question | RefusedCall | HaltedCall | CallInDoubt | (UnfinishedCall & Checks);

/** Performs the work of a tool's step, once the call is allowed. Null: the step must end. */
type Perform<Result> = (
  execution: StepExecution,
  allowed: AllowedCall,
  pending: PendingCall,
) => Promise<Result | CallInDoubt | RefusedCall | UnfinishedCall | StepStop | null>;

/** A refusal, or the result with the warnings for the model. */
type AuthorizedCall<Result> =
  | { readonly kind: "refused"; readonly refusal: string }
  | (Result & StepRecord & Pick<PendingCall, "warnings">);

/** Repeats a tool's step until the call is refused or `perform` has a result. @throws GuardrailHalt, CancellationError */
export async function authorizeTool<Result extends StepResult>(
  services: RunServices,
  call: ToolCall,
  perform: Perform<Result>,
): Promise<AuthorizedCall<Result>> {
  const { driver } = services.engine;
  let pending: PendingCall = { input: call.input, approved: null };
  for (;;) {
    const now = pending;
    const record = await call.step.run<Result | OpenDecision>(async (execution) => {
      const disabled = refuseDisabledTool(services, execution.io, call.tool);
      const refusal = disabled && (await disabled);
      if (refusal !== null) return { kind: "refused", refusal, isDenied: true };
      const decision = await decideCall(services, execution, { tool: call.tool, ...now });
      return decision?.kind === "allowed" ? perform(execution, decision, now) : decision;
    });
    if (!isOpen(record)) return { warnings: now.warnings, ...record };
    if (record.kind === "halted") throw new GuardrailHalt(record);
    if (record.kind === "refused") return refuseCall(services, call, record);
    const next =
      record.kind === "unfinished"
        ? await resumeCall(services, call, { record, pending: now })
        : await askPerson(services, call, { ...record, pending: now });
    if ("refusal" in next) return { kind: "refused", refusal: next.refusal };
    pending = next;
    // The next execution of an effect's step passes the gate, as after a pause: inbox items come first.
    if (!("run" in call.tool)) await driver.refresh();
  }
}

const openKinds: ReadonlySet<string> = new Set<OpenDecision["kind"]>([
  "ask",
  "refused",
  "halted",
  "in-doubt",
  "unfinished",
]);

function isOpen(record: StepResult | OpenDecision): record is OpenDecision {
  return openKinds.has(record.kind);
}

function refuseCall(
  { engine }: RunServices,
  { tool, callId }: ToolCall,
  { refusal, isDenied, t }: RefusedCall & StepRecord,
): { readonly kind: "refused"; readonly refusal: string } {
  const denied = { tool: tool.name, callId: callId ?? tool.name, reason: refusal };
  if (isDenied) engine.driver.outbox.event("permission.denied", t, null, denied);
  return { kind: "refused", refusal };
}

/** Waits until a call can be executed again. Returns the call with its resumption, or the refusal. */
async function resumeCall(
  services: RunServices,
  { step, tool, callId }: ToolCall,
  { record, pending }: { readonly record: UnfinishedCall & StepRecord; readonly pending: PendingCall },
): Promise<PendingCall | { readonly refusal: string }> {
  const going = { step, tool, callId, before: pending.resumption };
  const resumption = await awaitResumption(services, going, record);
  return "refusal" in resumption ? resumption : { ...pending, resumption };
}

/** Asks for approval. Returns the call with its answer, or the refusal. */
async function askPerson(
  services: RunServices,
  { step, tool, callId }: ToolCall,
  record: (Question | CallInDoubt) & { readonly pending: PendingCall },
): Promise<PendingCall | { readonly refusal: string }> {
  const { pending, risk } = record;
  const question = { step, tool, callId, risk };
  if (record.kind === "ask") {
    const { value: input, why, ruleOfTwo, warnings } = record;
    const next = toApprovedInput(
      await askForApproval(services, { ...question, input, why, ruleOfTwo }),
      input,
    );
    return "refusal" in next ? next : { ...pending, ...next, warnings };
  }
  const why = "the outcome of an earlier attempt is unknown: run it again?";
  const { decision } = await askForApproval(services, { ...question, input: pending.input, why });
  // A decision is about one attempt. The loss of the next one is asked about again.
  if (decision === "approved") return { ...pending, rerun: record.lost };
  return { refusal: abandonAttempt(services, tool, record.lost) };
}

/**
 * Closes an attempt whose outcome stays unknown, because the run's account lists open attempts. Returns the refusal.
 */
export function abandonAttempt({ engine }: RunServices, tool: Tool, lost: AttemptId): string {
  engine.driver.outbox.settle({ attempt: lost, usage: null });
  return toUnknownText(tool, null);
}

/** Decides about a call, inside its step. Null: the step must end. */
async function decideCall(
  services: RunServices,
  execution: StepExecution,
  { tool, input, approved }: PendingCall & { readonly tool: Tool },
): Promise<Decision | null> {
  const { policy, identity, state } = services;
  // An approved input was validated before.
  const validating = approved === "approved" ? { value: input } : validateInput(tool, input);
  const checked = validating instanceof Promise ? await validating : validating;
  if ("refusal" in checked) return { kind: "refused", ...checked, isDenied: false };
  const value = deepFreeze(checked.value);
  const { agentId, scope } = identity;
  const request: PermissionRequest = {
    tool: tool.name,
    risk: tool.risk,
    input: value,
    agentId,
    runId: scope.runId,
    tenantId: scope.tenantId,
    labels: state.labels.now,
    egress: Labels.leavesBy(tool),
  };
  const judging = decidePermission(policy.permissions, request);
  const verdict = judging instanceof Promise ? await judging : judging;
  const permitted = permit(services, { tool, request, verdict, approved });
  if (permitted.kind === "refused" || approved === "approved" || !policy.guardrails.has("beforeCall"))
    return permitted;
  const call = { ...toGuardedTool(tool), input: value };
  const result = await checkGuardrails(services, execution, {
    hook: "beforeCall",
    show: (guardrail, guardScope) => guardrail.beforeCall?.(call, guardScope),
    onFailure: tool.risk === "safe" ? "allow" : "block",
  });
  if (!result) return null;
  const { kind, guardrail, reason, warnings } = result;
  const heard = joinLogs(permitted.heard, result.heard);
  if (kind === "halt") return { kind: "halted", guardrail, reason, heard };
  if (kind === "block") return { kind: "refused", refusal: `not called: ${reason}`, isDenied: false, heard };
  return { ...permitted, ...(heard && { heard }), ...(warnings.length > 0 && { warnings }) };
}

function joinLogs(one: GuardrailLog | undefined, other: GuardrailLog | undefined): GuardrailLog | undefined {
  if (!one || !other) return one ?? other;
  return { trips: [...one.trips, ...other.trips], notes: [...one.notes, ...other.notes] };
}

interface JudgedCall {
  readonly tool: Tool;
  readonly request: PermissionRequest;
  /** The decision of the permissions. */
  readonly verdict: PermissionDecision;
  readonly approved: PendingCall["approved"];
}

/** Narrows a decision by the rules of the ancestors and the rule of two. */
function permit(
  { policy }: RunServices,
  { tool, request, verdict: own, approved }: JudgedCall,
): Exclude<Decision, HaltedCall> {
  const { permissions, rules, launch } = policy;
  const { input: value, labels, egress } = request;
  const above = applyRules(rules, request);
  const meet = launch.ruleOfTwo === "ask" && egress && labels.untrusted && labels.private;
  const isExempt = meet && isTrue(() => permissions.exempts?.(request));
  const isHeld = meet && !isExempt;
  const narrow = pickStricter(own, above);
  const verdict = isHeld ? pickStricter(narrow, "ask") : narrow;
  if (verdict === "allow" || (verdict === "ask" && approved !== null))
    return { kind: "allowed", value, ...(isExempt && { heard: toExemptionLog(tool) }) };
  if (verdict === "ask" && launch.approver !== "none") {
    const why = isHeld
      ? `${tool.name} ${leaves}${Labels.describeSources(labels)}`
      : `the policy requires approval of ${tool.name} (risk: ${tool.risk})`;
    return { kind: "ask", value, risk: tool.risk, why, ...(isHeld && { ruleOfTwo: true }) };
  }
  return { kind: "refused", refusal: toRefusal(tool, { verdict, above, isHeld }), isDenied: true };
}

const leaves = "sends data out, and this run has seen both untrusted and private content";

/** Returns the log entry for a call that is made although untrusted and private content have met. */
const toExemptionLog = ({ name }: Tool): GuardrailLog => ({
  trips: [{ guardrail: "rule-of-two", decision: "allow", reason: `${name} ${leaves}; a rule exempts it` }],
  notes: [],
});

function toRefusal(
  { name, risk }: Tool,
  judged: {
    readonly verdict: PermissionDecision;
    readonly above: PermissionDecision;
    readonly isHeld: boolean;
  },
): string {
  const { verdict, above, isHeld } = judged;
  const cause = isHeld ? `it ${leaves},` : `its risk is ${risk}`;
  const why = verdict === "ask" ? `${cause} and this run has no approver` : "the policy denies it";
  const rule = `{ tool: "${name}", verdict: "allow"${isHeld ? `, ruleOfTwo: "exempt"` : ""} }`;
  const remedy =
    above === "deny" ? "the rules of a parent run forbid it" : `permissions([${rule}]) would allow it`;
  return `${new ToolRefusedError({ tool: name, reason: why }).message}; ${remedy}`;
}

/** Whether a policy returns exactly true. A policy is user code, so an error counts as false. */
function isTrue(say: () => unknown): boolean {
  try {
    return say() === true;
  } catch {
    return false;
  }
}

type InputCheck = { readonly value: Json } | { readonly refusal: string };

/** Validates an input. A schema is user code, so its error is a refusal. Synchronous if the schema is. */
function validateInput({ input: schema }: Tool, input: Json): InputCheck | Promise<InputCheck> {
  try {
    const checking = schema["~standard"].validate(input);
    if (!("then" in checking)) return toChecked(checking);
    return Promise.resolve(checking).then(toChecked).catch(toBadInput);
  } catch (error) {
    return toBadInput(error);
  }
}

type SchemaResult = Awaited<ReturnType<Tool["input"]["~standard"]["validate"]>>;

function toChecked(checked: SchemaResult): InputCheck {
  // The schema is user code: its output may have getters, or be a proxy. A copy never changes.
  if (!checked.issues) return { value: copyPlainJson(checked.value) };
  return { refusal: `bad input: ${issueText(checked.issues)}` };
}

const toBadInput = (error: unknown): InputCheck => ({ refusal: `bad input: ${safeMessage(error)}` });
