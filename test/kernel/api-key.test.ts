import { ApiKeyRecord } from "reeve/store";
import { UserId } from "reeve";
import { expect, test } from "vitest";

const record: ApiKeyRecord = {
  id: "k1",
  hash: "0".repeat(64),
  tenant: "acme",
  user: UserId.of("ada"),
  scopes: ["read", "run"],
  expiresAt: 2_000,
  limits: {
    budget: { maxCostUsd: 1.5, onLimit: "wait" },
    priority: "low",
    maxAgents: 3,
    schedules: 2,
    scheduleIntervalS: 60,
  },
};

test("the record of a key survives JSON", () => {
  const { limits: _, ...unlimited } = { ...record, tenant: null, user: null };
  for (const each of [record, unlimited])
    expect(ApiKeyRecord.decode(JSON.parse(JSON.stringify(each)))).toEqual(each);
});

test.each(["id", "hash", "tenant", "user", "scopes", "expiresAt"])(
  "a record without %s is refused",
  (field) => {
    expect(() => ApiKeyRecord.decode({ ...record, [field]: undefined })).toThrow(field);
    const { [field]: _, ...rest } = Object.fromEntries(Object.entries(record));
    expect(() => ApiKeyRecord.decode(rest)).toThrow(field);
  },
);

test.each<readonly [string, object, string]>([
  ["a field that it does not have", { admin: true }, "an API key"],
  ["an empty user", { user: "" }, "user"],
  ["a user that is not an id", { user: "a b" }, `invalid id "a b": use 1 to 128 printable characters`],
  ["a user that is not text", { user: ["ada"] }, "user"],
  ["a scope that there is not", { scopes: ["read", "root"] }, "scopes"],
  ["scopes that are no list", { scopes: "admin" }, "scopes"],
  ["no time", { expiresAt: null }, "expiresAt"],
  ["a time that never comes", { expiresAt: "Infinity" }, "expiresAt"],
  ["a limit that there is not", { limits: { users: 1 } }, "limits"],
  ["a budget that is none", { limits: { budget: { maxCostUsd: "1" } } }, "limits.budget"],
  ["a budget with a field that there is not", { limits: { budget: { maxEuros: 1 } } }, "limits.budget"],
  ["a priority that there is not", { limits: { priority: "highest" } }, "limits.priority"],
  ["half a schedule", { limits: { schedules: 0.5 } }, "schedules"],
  ["an interval in words", { limits: { scheduleIntervalS: "60" } }, "scheduleIntervalS"],
  ["half an agent", { limits: { maxAgents: 0.5 } }, "maxAgents"],
])("a record with %s is refused", (_, wrong, told) => {
  expect(() => ApiKeyRecord.decode({ ...record, ...wrong })).toThrow(told);
});

test.each([null, "x", [], 7])("%j is not the record of a key", (raw) => {
  expect(() => ApiKeyRecord.decode(raw)).toThrow("not readable");
});
