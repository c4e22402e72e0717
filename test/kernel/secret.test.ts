import { format, inspect } from "node:util";
import { encodeError } from "reeve/engine";
import { Json, RetryableError, secret } from "reeve";
import { expect, test } from "vitest";

const value = "hunter2";
const password = secret(value);
/** The secret after its type is lost. */
const lost = Json.as<string>(Json.of(password));

const shown: Readonly<Record<string, unknown>> = {
  "a template": `it is ${lost}`,
  "a sum": "it is " + lost,
  "a join": [lost, lost].join(),
  JSON: JSON.stringify({ deep: [{ password }] }),
  "JSON of itself": JSON.stringify(password),
  inspect: inspect({ deep: { password } }, { depth: 9, showHidden: true }),
  "a log line": format("%s %o %O %j %d", password, password, password, password, password),
  "an error": encodeError(new Error(`refused ${lost}`)),
  "an error's cause": inspect(new Error("refused", { cause: password })),
  "an error's data": JSON.stringify(new RetryableError({ message: lost })),
  "a copy": inspect(structuredClone({ password })),
  "its parts": inspect(Object.assign({}, password, Object.getOwnPropertyDescriptors(password))),
};

test.each(Object.entries(shown))("%s does not show the value of a secret", (_, text) => {
  expect(inspect(text)).not.toContain(value);
});

test("a secret prints as [secret], and reveal returns its value", () => {
  expect(`it is ${lost}`).toBe("it is [secret]");
  expect(JSON.stringify({ password })).toBe('{"password":"[secret]"}');
  expect(inspect([password])).toBe("[ [secret] ]");
  expect(password.reveal()).toBe(value);
  expect(secret({ user: "ada" }).reveal()).toEqual({ user: "ada" });
});

// @ts-expect-error: what is journaled is JSON, and a secret is none.
const journaled: Json = { password };

// @ts-expect-error: a text is wanted.
const text: string = password;

test("a secret is not assignable to a string or to JSON", () => {
  expect([journaled, text]).toHaveLength(2);
});
