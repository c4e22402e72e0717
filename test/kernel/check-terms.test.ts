import { checkTerms, Json } from "#kernel";
import { expect, test } from "vitest";

const refused =
  (terms: Json): (() => void) =>
  () =>
    checkTerms(Json.as(terms));

test.each<readonly [Json, string]>([
  [{ priority: "urgent" }, 'priority must be one of background, low, normal, high, critical, got "urgent"'],
  [{ retention: "always" }, 'retention must be one of none, run, permanent, got "always"'],
  [{ permissions: { verdict: "deny" } }, "permissions must be a list of rules"],
  [{ permissions: ["deny"] }, 'permissions[0] must be a rule, got "deny"'],
  [{ permissions: [{ tool: "mail" }] }, "permissions[0].verdict is invalid: undefined"],
  [{ permissions: [{ verdict: "allowed" }] }, 'permissions[0].verdict is invalid: "allowed"'],
  [
    { permissions: [{ verdict: "allow" }, { verdict: "deny", risk: "low" }] },
    'permissions[1].risk is invalid: "low"',
  ],
  [{ permissions: [{ verdict: "deny", tool: ["mail", 3] }] }, 'permissions[0].tool is invalid: ["mail",3]'],
  [{ permissions: [{ verdict: "allow", ruleOfTwo: true }] }, "permissions[0].ruleOfTwo is invalid: true"],
  [
    { permissions: [{ verdict: "allow", arguments: [{ path: "to", endWith: "@us" }] }] },
    'permissions[0].arguments is invalid: [{"path":"to","endWith":"@us"}]',
  ],
  [
    { permissions: [{ verdict: "allow", tools: "mail" }] },
    'permissions[0] has a field "tools": a rule has verdict, tool, risk, agent, tenant, arguments, ruleOfTwo',
  ],
])("terms that types would refuse are refused: %j", (terms, message) => {
  expect(refused(terms)).toThrow(new TypeError(message));
});

test("terms that are absent or valid are accepted", () => {
  checkTerms({});
  checkTerms({ priority: null, retention: null, permissions: [] });
  checkTerms({
    priority: "critical",
    retention: "none",
    permissions: [
      { verdict: "ask" },
      {
        verdict: "allow",
        tool: ["mail", "post_*"],
        risk: ["safe", "high"],
        agent: "writer",
        arguments: [{ path: "amount", atLeast: 0, atMost: 5, equals: 3, oneOf: [1, "a"], startsWith: "a" }],
        ruleOfTwo: "exempt",
      },
    ],
  });
});
