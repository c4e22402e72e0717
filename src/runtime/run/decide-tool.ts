import { Json, Labels, ToolRefusedError, type PermissionRequest, type Tool, type Verdict } from "#kernel";
import { narrowed, stricter, verdictOf } from "#agents";
import { guardedCall, lookPlace, type LookingStep } from "./guard-step.ts";
import type { Heard, Looking } from "./guards.ts";
import type { ToolHost } from "./tool-host.ts";
import { messageOf } from "./tool-outcome.ts";

/** What may be done about a call. */
export type Decision = (
  | { readonly kind: "allowed"; readonly value: Json }
  /** Somebody has to approve exactly this. */
  | {
      readonly kind: "ask";
      readonly value: Json;
      readonly why: string;
      readonly ruleOfTwo?: true | undefined;
    }
  /** `isDenied`: by a policy, not because the arguments are bad. */
  | { readonly kind: "refused"; readonly refusal: string; readonly isDenied: boolean }
  | { readonly kind: "halted"; readonly guardrail: string; readonly reason: string }
) & {
  /** What guardrails have said. */
  readonly heard?: Heard | undefined;
  /** What the model should know besides the result. */
  readonly warnings?: readonly string[] | undefined;
};

/** A call, as far as it has come. */
export interface Deciding {
  readonly input: Json;
  /** Has somebody agreed to exactly this input, or put it there? */
  readonly approved: "approved" | "edited" | null;
}

/**
 * Decoded, valid, allowed, and let pass by the guardrails. The value that was checked is frozen, and is the value that
 * runs. One that somebody has approved was checked before. Null: the step must end.
 */
export async function decide(
  host: ToolHost,
  step: LookingStep,
  tool: Tool,
  { input, approved }: Deciding,
): Promise<Decision | null> {
  const validating = approved === "approved" ? { value: input } : validated(tool, input);
  const checked = validating instanceof Promise ? await validating : validating;
  if ("refusal" in checked) return { kind: "refused", ...checked, isDenied: false };
  const value = frozen(checked.value);
  const request = requestOf(host, tool, value);
  const asked = verdictOf(host.policy.permissions ?? host.permissions, request);
  const said = asked instanceof Promise ? await asked : asked;
  const permitted = permission(host, tool, request, { said, approved });
  if (permitted.kind === "refused" || approved === "approved" || !host.guards.has("beforeCall"))
    return permitted;
  const place = lookPlace(host, step, "beforeCall", tool.risk === "safe" ? "allow" : "block");
  const call = guardedCall(tool, value);
  const looking: Looking = (guardrail, scope) => guardrail.beforeCall?.(call, scope);
  const look = await host.guards.look(host, "beforeCall", looking, place);
  if (!look) return null;
  const { kind, guardrail, reason, warnings } = look;
  const heard = both(permitted.heard, look.heard);
  if (kind === "halt") return { kind: "halted", guardrail, reason, heard };
  if (kind === "block") return { kind: "refused", refusal: `not called: ${reason}`, isDenied: false, heard };
  return { ...permitted, ...(heard && { heard }), ...(warnings.length > 0 && { warnings }) };
}

function both(one: Heard | undefined, other: Heard | undefined): Heard | undefined {
  if (!one || !other) return one ?? other;
  return { trips: [...one.trips, ...other.trips], notes: [...one.notes, ...other.notes] };
}

function permission(
  host: ToolHost,
  tool: Tool,
  request: PermissionRequest,
  { said: word, approved }: { readonly said: Verdict } & Pick<Deciding, "approved">,
): Exclude<Decision, { readonly kind: "halted" }> {
  const { input: value } = request;
  const policy = host.policy.permissions ?? host.permissions;
  const above = narrowed(host.rules, request);
  const meet =
    host.ruleOfTwo === "ask" && request.outside && request.labels.untrusted && request.labels.private;
  const isExempt = meet && isTrue(() => policy.exempts?.(request));
  const isHeld = meet && !isExempt;
  const said = stricter(word, above);
  const verdict = isHeld ? stricter(said, "ask") : said;
  if (verdict === "allow" || (verdict === "ask" && approved !== null))
    return { kind: "allowed", value, ...(isExempt && { heard: exemption(tool) }) };
  if (verdict === "ask" && host.approvals.approver !== null) {
    const why = isHeld
      ? `${tool.name} ${leaves}`
      : `the policy asks about ${tool.name}, whose risk is ${tool.risk}`;
    return { kind: "ask", value, why, ...(isHeld && { ruleOfTwo: true }) };
  }
  return { kind: "refused", refusal: refusalOf(tool, { verdict, above, isHeld }), isDenied: true };
}

function requestOf({ agentId, scope, labels }: ToolHost, tool: Tool, input: Json): PermissionRequest {
  const { name, risk } = tool;
  const { runId, tenantId } = scope;
  const outside = Labels.leavesBy(tool);
  return { tool: name, risk, input, agentId, runId, tenantId, labels: labels.now, outside };
}

const leaves = "lets something out, and this run has seen both untrusted and private content";

/** The call is made although both have met: somebody should be able to see that. */
const exemption = ({ name }: Tool): Heard => ({
  trips: [{ guardrail: "rule-of-two", decision: "allow", reason: `${name} ${leaves}; a rule exempts it` }],
  notes: [],
});

function refusalOf(
  { name, risk }: Tool,
  {
    verdict,
    above,
    isHeld,
  }: { readonly verdict: Verdict; readonly above: Verdict; readonly isHeld: boolean },
): string {
  const cause = isHeld ? `it ${leaves},` : `its risk is ${risk}`;
  const why = verdict === "ask" ? `${cause} and nobody is here to approve it` : "the policy denies it";
  const rule = `{ tool: "${name}", verdict: "allow"${isHeld ? `, ruleOfTwo: "exempt"` : ""} }`;
  const remedy =
    above === "deny" ? "those who hired this run forbid it" : `permissions([${rule}]) would allow it`;
  return `${new ToolRefusedError({ tool: name, reason: why }).message}; ${remedy}`;
}

/** A policy is somebody's code: anything but a clear yes is a no. */
function isTrue(say: () => unknown): boolean {
  try {
    return say() === true;
  } catch {
    return false;
  }
}

type Checked = { readonly value: Json } | { readonly refusal: string };

/** A schema is somebody's code: what it throws is a refusal like any other. At once where the schema answers at once. */
function validated({ input: schema }: Tool, input: Json): Checked | Promise<Checked> {
  try {
    const checking = schema["~standard"].validate(input);
    return "then" in checking ? Promise.resolve(checking).then(checkedBy, failing) : checkedBy(checking);
  } catch (error) {
    return failing(error);
  }
}

type SchemaResult = Awaited<ReturnType<Tool["input"]["~standard"]["validate"]>>;

function checkedBy(checked: SchemaResult): Checked {
  if (!checked.issues) return { value: Json.of(checked.value) };
  return { refusal: `bad input: ${checked.issues.map(({ message }) => message).join("; ")}` };
}

const failing = (error: unknown): Checked => ({ refusal: `bad input: ${messageOf(error)}` });

function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
