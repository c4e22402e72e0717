import { isJsonObject } from "./json.ts";
import type { PermissionRule } from "./permission.ts";
import { type HistoryRetention, Priority, retentions } from "./supervision.ts";

/** Terms of a run that its caller chooses by name. */
interface ChosenTerms {
  readonly priority?: Priority | null | undefined;
  readonly retention?: HistoryRetention | null | undefined;
  readonly permissions?: readonly PermissionRule[] | undefined;
}

type FieldCheck = (value: unknown) => boolean;

const isText: FieldCheck = (value) => typeof value === "string";
const isNumber: FieldCheck = (value) => typeof value === "number" && !Number.isNaN(value);
const isOneOf =
  (...names: readonly string[]): FieldCheck =>
  (value) =>
    typeof value === "string" && names.includes(value);
/** One of them, or a list of them. */
const isSomeOf =
  (is: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) ? value.every(is) : is(value);

const testFields: Readonly<Record<string, FieldCheck>> = {
  path: isText,
  equals: () => true,
  oneOf: Array.isArray,
  startsWith: isText,
  endsWith: isText,
  atMost: isNumber,
  atLeast: isNumber,
};

const ruleFields: Readonly<Record<keyof PermissionRule, FieldCheck>> = {
  verdict: isOneOf("allow", "ask", "deny"),
  tool: isSomeOf(isText),
  risk: isSomeOf(isOneOf("safe", "high", "critical")),
  agent: isSomeOf(isText),
  tenant: isSomeOf(isText),
  arguments: (tests) =>
    Array.isArray(tests) &&
    tests.every((test) => isJsonObject(test) && findFault(test, testFields, "path") === null),
  ruleOfTwo: isOneOf("exempt"),
};

/** Returns the name of the first field that is unknown, invalid or missing. Null: all fields are valid. */
function findFault(
  value: object,
  fields: Readonly<Record<string, FieldCheck>>,
  required: string,
): string | null {
  if (Reflect.get(value, required) === undefined) return required;
  const isGood = ([name, field]: readonly [string, unknown]): boolean =>
    Object.hasOwn(fields, name) && (field === undefined || fields[name]?.(field) === true);
  return Object.entries(value).find((entry) => !isGood(entry))?.[0] ?? null;
}

/**
 * Checks terms that types cannot guard: untyped code and stored data get here, too. A rule with an unknown or misspelt
 * field is refused, because without that field it would match more calls than its author meant. @throws TypeError
 */
export function checkTerms({ priority, retention, permissions = [] }: ChosenTerms): void {
  checkName("priority", priority, Priority.all);
  checkName("retention", retention, retentions);
  if (!Array.isArray(permissions)) throw new TypeError("permissions must be a list of rules");
  for (const [index, rule] of permissions.entries()) checkRule(rule, `permissions[${index}]`);
}

/** Checks a permission rule. @throws TypeError */
export function checkRule(rule: PermissionRule, name: string): void {
  const fault = isJsonObject(rule) ? findFault(rule, ruleFields, "verdict") : "";
  if (fault === "") throw new TypeError(`${name} must be a rule, got ${JSON.stringify(rule)}`);
  if (fault === null) return;
  const value = JSON.stringify(Reflect.get(rule, fault));
  throw new TypeError(
    Object.hasOwn(ruleFields, fault)
      ? `${name}.${fault} is invalid: ${value}`
      : `${name} has a field ${JSON.stringify(fault)}: a rule has ${Object.keys(ruleFields).join(", ")}`,
  );
}

function checkName(field: string, value: string | null | undefined, names: readonly string[]): void {
  if (value === undefined || value === null || names.includes(value)) return;
  throw new TypeError(`${field} must be one of ${names.join(", ")}, got ${JSON.stringify(value)}`);
}
