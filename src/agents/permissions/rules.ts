import {
  AgentId,
  type ArgumentTest,
  isJsonObject,
  type Json,
  type PermissionRequest,
  type PermissionRule,
  type Permissions,
  type Verdict,
} from "#kernel";
import { defaultPermissions, verdictOf } from "./permissions.ts";

/** A rule, or a function that may decide about a call. Null or undefined: no opinion. */
export type PermissionSource =
  | PermissionRule
  | ((request: PermissionRequest) => Verdict | null | undefined | Promise<Verdict | null | undefined>);

const strictness: Readonly<Record<Verdict, number>> = { allow: 0, ask: 1, deny: 2 };

/** Returns the stricter of two decisions. */
export const stricter = (one: Verdict, other: Verdict): Verdict =>
  strictness[one] >= strictness[other] ? one : other;

/**
 * Creates permissions from rules and functions. The strictest decision about a call counts. If there is none,
 * `otherwise` decides; by default safe calls run and all other calls require approval.
 */
export function permissions(
  sources: readonly PermissionSource[],
  { otherwise = defaultPermissions }: { readonly otherwise?: Permissions } = {},
): Permissions {
  return {
    decide: async (request) => {
      let verdict: Verdict | null = null;
      for (const source of sources) {
        const said = await wordOf(source, request);
        if (said) verdict = verdict === null ? said : stricter(verdict, said);
      }
      return verdict ?? otherwise.decide(request);
    },
    exempts: (request) =>
      sources.some((source) => typeof source !== "function" && isExemption(source, request)) ||
      otherwise.exempts?.(request) === true,
  };
}

async function wordOf(source: PermissionSource, request: PermissionRequest): Promise<Verdict | null> {
  if (typeof source !== "function") return wordOfRule(source, request);
  const said = await source(request);
  // Null and undefined are no decision. An invalid decision is a denial.
  return said === null || said === undefined ? null : verdictOf({ decide: () => said }, request);
}

function isExemption(rule: PermissionRule, request: PermissionRequest): boolean {
  return rule.ruleOfTwo === "exempt" && wordOfRule(rule, request) === "allow";
}

/** Returns the decision of rules alone. They only narrow: if none matches, the call is allowed. */
export const narrowed = (rules: readonly PermissionRule[], request: PermissionRequest): Verdict =>
  rules.reduce<Verdict>((verdict, rule) => stricter(verdict, wordOfRule(rule, request) ?? "allow"), "allow");

function wordOfRule(rule: PermissionRule, request: PermissionRequest): Verdict | null {
  const { agent, tenant } = rule;
  const matches =
    isCall(rule, request) &&
    isAny(agent, AgentId.type(request.agentId)) &&
    isAny(tenant, request.tenantId ?? "");
  return matches ? rule.verdict : null;
}

/** Whether a call matches a pattern. */
export function isCall(
  { tool, risk, arguments: tests = [] }: Pick<PermissionRule, "tool" | "risk" | "arguments">,
  call: Pick<PermissionRequest, "tool" | "risk" | "input">,
): boolean {
  return (
    isAny(tool, call.tool) &&
    isAny(risk, call.risk) &&
    tests.every((test) => holds(test, at(call.input, test.path)))
  );
}

function isAny(patterns: string | readonly string[] | undefined, name: string): boolean {
  return patterns === undefined || [patterns].flat().some((pattern) => isLike(pattern, name));
}

/** Whether a name matches a pattern. `*` matches any part. Greedy from the left, so it takes linear time. */
function isLike(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === name;
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last))
    return false;
  let from = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, from);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    from = found + part.length;
  }
  return true;
}

function at(input: Json, path: string): Json | undefined {
  let value: Json | undefined = input;
  for (const name of path.split(".")) {
    if (Array.isArray(value)) value = value[Number(name)];
    else if (isJsonObject(value) && Object.hasOwn(value, name)) value = value[name];
    else return undefined;
  }
  return value;
}

function holds(test: ArgumentTest, value: Json | undefined): boolean {
  if (value === undefined) return false;
  const { equals, oneOf, startsWith, endsWith, atMost, atLeast } = test;
  const isText = typeof value === "string";
  const isNumber = typeof value === "number";
  return (
    (equals === undefined || isSame(value, equals)) &&
    (oneOf === undefined || oneOf.some((one) => isSame(value, one))) &&
    (startsWith === undefined || (isText && value.startsWith(startsWith))) &&
    (endsWith === undefined || (isText && value.endsWith(endsWith))) &&
    (atMost === undefined || (isNumber && value <= atMost)) &&
    (atLeast === undefined || (isNumber && value >= atLeast))
  );
}

const isSame = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other);
