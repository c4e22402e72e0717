import {
  AgentId,
  type ArgumentTest,
  checkRule,
  isJsonObject,
  type Json,
  type PermissionRequest,
  type PermissionRule,
  type Permissions,
  type PermissionDecision,
} from "#kernel";
import { defaultPermissions, decidePermission } from "./permissions.ts";

/** A rule, or a function that may decide about a call. Null or undefined: no opinion. */
export type PermissionSource =
  | PermissionRule
  | ((
      request: PermissionRequest,
    ) => PermissionDecision | null | undefined | Promise<PermissionDecision | null | undefined>);

const strictness: Readonly<Record<PermissionDecision, number>> = { allow: 0, ask: 1, deny: 2 };

/** Returns the stricter of two decisions. */
export const pickStricter = (one: PermissionDecision, other: PermissionDecision): PermissionDecision =>
  strictness[one] >= strictness[other] ? one : other;

/**
 * Creates permissions from rules and functions. The strictest decision about a call counts. If there is none,
 * `otherwise` decides; by default safe calls run and all other calls require approval. @throws TypeError for a rule that
 * is none.
 */
export function permissions(
  sources: readonly PermissionSource[],
  { otherwise = defaultPermissions }: { readonly otherwise?: Permissions } = {},
): Permissions {
  for (const [index, source] of sources.entries())
    if (typeof source !== "function") checkRule(source, `rule ${index}`);
  return {
    decide: async (request) => {
      let verdict: PermissionDecision | null = null;
      for (const source of sources) {
        const said = await askSource(source, request);
        if (said) verdict = verdict === null ? said : pickStricter(verdict, said);
      }
      return verdict ?? otherwise.decide(request);
    },
    exempts: (request) =>
      sources.some((source) => typeof source !== "function" && isExemption(source, request)) ||
      otherwise.exempts?.(request) === true,
  };
}

async function askSource(
  source: PermissionSource,
  request: PermissionRequest,
): Promise<PermissionDecision | null> {
  if (typeof source !== "function") return applyRule(source, request);
  const said = await source(request);
  // Null and undefined are no decision. An invalid decision is a denial.
  return said === null || said === undefined ? null : decidePermission({ decide: () => said }, request);
}

function isExemption(rule: PermissionRule, request: PermissionRequest): boolean {
  return rule.ruleOfTwo === "exempt" && applyRule(rule, request) === "allow";
}

/** Returns the decision of rules alone. They only narrow: if none matches, the call is allowed. */
export const applyRules = (
  rules: readonly PermissionRule[],
  request: PermissionRequest,
): PermissionDecision =>
  rules.reduce<PermissionDecision>(
    (verdict, rule) => pickStricter(verdict, applyRule(rule, request) ?? "allow"),
    "allow",
  );

function applyRule(rule: PermissionRule, request: PermissionRequest): PermissionDecision | null {
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
    tests.every((test) => matchesTest(test, getArgument(call.input, test.path)))
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

function getArgument(input: Json, path: string): Json | undefined {
  let value: Json | undefined = input;
  for (const name of path.split(".")) {
    if (Array.isArray(value)) value = value[Number(name)];
    else if (isJsonObject(value) && Object.hasOwn(value, name)) value = value[name];
    else return undefined;
  }
  return value;
}

function matchesTest(test: ArgumentTest, value: Json | undefined): boolean {
  if (value === undefined) return false;
  const { equals, oneOf, startsWith, endsWith, atMost, atLeast } = test;
  const isText = typeof value === "string";
  const isNumber = typeof value === "number";
  return (
    (equals === undefined || isEqualJson(value, equals)) &&
    (oneOf === undefined || oneOf.some((one) => isEqualJson(value, one))) &&
    (startsWith === undefined || (isText && value.startsWith(startsWith))) &&
    (endsWith === undefined || (isText && value.endsWith(endsWith))) &&
    (atMost === undefined || (isNumber && value <= atMost)) &&
    (atLeast === undefined || (isNumber && value >= atLeast))
  );
}

const isEqualJson = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other);
