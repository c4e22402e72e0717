import * as fc from "fast-check";
import { permissions } from "reeve";
import {
  type PermissionRequest,
  type PermissionRule,
  type PermissionDecision,
  AgentId,
  Json,
  Labels,
  RunId,
  TenantId,
  TreeId,
} from "#kernel";
import { expect, test } from "vitest";

const request = (fields: Partial<PermissionRequest> = {}): PermissionRequest => ({
  tool: "mail_send",
  risk: "high",
  input: { to: "ann@acme.com", amount: 10, tags: ["a", "b"], who: { name: "ann" } },
  agentId: AgentId.of("writer", "7"),
  runId: RunId.root(TreeId.of("t")),
  tenantId: TenantId.of("acme"),
  labels: Labels.none,
  egress: true,
  ...fields,
});

const verdict = async (rules: Parameters<typeof permissions>[0], fields?: Partial<PermissionRequest>) =>
  permissions(rules).decide(request(fields));

test("if no rule matches, safe tools run and other tools need approval", async () => {
  expect(await verdict([{ tool: "other", verdict: "allow" }])).toBe("ask");
  expect(await verdict([], { risk: "safe" })).toBe("allow");
});

test.each<[string, PermissionRule]>([
  ["any", { verdict: "deny" }],
  ["tool", { tool: "mail_send", verdict: "deny" }],
  ["tools", { tool: ["x", "mail_send"], verdict: "deny" }],
  ["pattern", { tool: "mail_*", verdict: "deny" }],
  ["pattern in the middle", { tool: "m*_s*d", verdict: "deny" }],
  ["risk", { risk: ["high", "critical"], verdict: "deny" }],
  ["agent", { agent: "writer", verdict: "deny" }],
  ["tenant", { tenant: "acme", verdict: "deny" }],
  ["equals", { verdict: "deny", arguments: [{ path: "who.name", equals: "ann" }] }],
  ["oneOf", { verdict: "deny", arguments: [{ path: "tags.1", oneOf: ["x", "b"] }] }],
  ["text", { verdict: "deny", arguments: [{ path: "to", startsWith: "ann", endsWith: "@acme.com" }] }],
  ["number", { verdict: "deny", arguments: [{ path: "amount", atLeast: 10, atMost: 10 }] }],
])("a rule matches by %s", async (_, rule) => {
  expect(await verdict([rule])).toBe("deny");
});

test.each<[string, PermissionRule]>([
  ["tool", { tool: "mail", verdict: "allow" }],
  ["pattern", { tool: "*x*", verdict: "allow" }],
  ["overlapping pattern", { tool: "mail_send*send", verdict: "allow" }],
  ["risk", { risk: "critical", verdict: "allow" }],
  ["agent's key", { agent: "7", verdict: "allow" }],
  ["no tenant", { tenant: "", verdict: "allow" }],
  ["a path that is not there", { verdict: "allow", arguments: [{ path: "cc", equals: null }] }],
  ["an inherited name", { verdict: "allow", arguments: [{ path: "constructor" }] }],
  [
    "one test of two",
    {
      verdict: "allow",
      arguments: [
        { path: "amount", atMost: 10 },
        { path: "to", equals: 1 },
      ],
    },
  ],
  ["a number for a text", { verdict: "allow", arguments: [{ path: "amount", startsWith: "1" }] }],
])("a rule does not match by %s", async (_, rule) => {
  expect(await verdict([rule])).toBe("ask");
});

test("of all matching rules the strictest counts, in any order", async () => {
  const word = fc.constantFrom<PermissionDecision>("allow", "ask", "deny");
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1 }), async (words) => {
      const order = ["deny", "ask", "allow"] as const;
      const strictest = order.find((one) => words.includes(one));
      expect(await verdict(words.map((one) => ({ verdict: one })))).toBe(strictest);
    }),
  );
});

test("a function may decide or abstain; an invalid decision or an error denies", async () => {
  const allow = { verdict: "allow" } as const;
  expect(await verdict([() => null, async () => undefined, allow])).toBe("allow");
  expect(await verdict([() => "deny", allow])).toBe("deny");
  expect(await verdict([() => Json.as<"allow">("yes"), allow])).toBe("deny");
  await expect(verdict([() => Promise.reject(new Error("no risk known")), allow])).rejects.toThrow(
    "no risk known",
  );
});
