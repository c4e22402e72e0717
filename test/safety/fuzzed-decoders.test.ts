import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeError,
  encodeError,
  HumanQuestion,
  Json,
  Page,
  ReeveError,
  StepManifest,
  ToolRefusedError,
} from "#kernel";
import { decodeEntry, readEntry } from "../../src/agents/session/decode-entry.ts";
import { decodeMessage } from "../../src/agents/session/decode-message.ts";
import { parseSkillFile } from "../../src/profile/skill-file.ts";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(3_000);

/** A decoder, a value that it takes, and whether a result or an error of it is one that it declares. */
interface Decoder {
  readonly name: string;
  readonly golden: Json;
  readonly decode: (value: Json) => unknown;
  readonly isRefusal: (outcome: unknown) => boolean;
  readonly isTypedError?: (error: unknown) => boolean;
}

const message = {
  role: "assistant",
  content: [
    { type: "text", text: "hello", providerData: { a: 1 } },
    { type: "tool-call", callId: "c", name: "look", input: { to: "ann" } },
    {
      type: "tool-result",
      callId: "c",
      name: "look",
      content: [{ type: "text", text: "x" }],
      isError: false,
    },
    { type: "file", mediaType: "image/png", source: { base64: "AQID" } },
    { type: "data", data: { n: 1 } },
  ],
};
const part = { role: "user", hash: "h", size: 1, tokens: 1, entry: "e1", notStored: "retention" };
const manifest = {
  kind: "model",
  name: "m",
  attempts: [{ attempt: "a1", at: 1, ms: 2, usage: { input: 1, output: 2 }, error: { code: "model" } }],
  price: { input: 1, output: 2 },
  finish: "stop",
  session: { id: "s", userId: null },
  prompt: [part],
  promptHash: "h",
  answer: [part],
  decisions: [{ by: "g", layer: "guardrail", decision: "allow", reason: "r" }],
  base: { step: "t~0:model:1", attempt: "a1", parts: 1 },
};
const entry = {
  id: "e2",
  parentId: "e1",
  at: 1,
  runId: "t~0",
  branch: null,
  type: "message",
  message,
  labels: { untrusted: true, private: false },
};
const question = {
  question: "Which?",
  fields: [{ name: "day", type: "list", choices: ["a", "b"], min: 0, max: 2, optional: true }],
};
const isNull = (outcome: unknown): boolean => outcome === null;
const never = (): boolean => false;
const isTypeError = (error: unknown): boolean => error instanceof TypeError;

const decoders: readonly Decoder[] = [
  {
    name: "manifest of a step",
    golden: manifest,
    decode: (value) => StepManifest.decode(value),
    isRefusal: never,
    isTypedError: (error) =>
      error instanceof TypeError &&
      /^(the manifest is not readable|invalid ([a-z]+ )?id )/.test(error.message),
  },
  { name: "message", golden: message, decode: (value) => decodeMessage(value), isRefusal: isNull },
  { name: "entry of a file", golden: entry, decode: (value) => decodeEntry(value), isRefusal: isNull },
  {
    name: "entry of a store",
    golden: entry,
    decode: (value) => readEntry(Json.as(value)),
    isRefusal: isNull,
  },
  {
    name: "question",
    golden: question,
    decode: (value) => HumanQuestion.parse(value),
    isRefusal: (outcome) => typeof outcome === "string",
  },
  {
    name: "answer",
    golden: { question, answer: { day: ["a"] } },
    decode: (value) => {
      const { question: asked = null, answer = null } = Object(value);
      return HumanQuestion.checkAnswer(asked, answer);
    },
    isRefusal: (outcome) => typeof outcome === "string",
  },
  {
    name: "error",
    golden: Json.of(encodeError(new ToolRefusedError({ tool: "t", reason: "r" }))),
    decode: (value) => decodeError(Json.as(value)),
    isRefusal: (outcome) => ReeveError.is(outcome),
  },
  {
    name: "cursor of a page",
    golden: [1, "id"],
    decode: (value) =>
      Page.request({ size: 1, after: btoa(JSON.stringify(value).replaceAll(/[^ -~]/g, "?")) }),
    isRefusal: never,
    isTypedError: isTypeError,
  },
  {
    name: "skill",
    golden: "---\nname: weekly\ndescription: Writes.\n---\n\nRead.\n",
    decode: (value) => parseSkillFile(typeof value === "string" ? value : JSON.stringify(value), "weekly"),
    isRefusal: never,
    isTypedError: (error) => error instanceof Error && !(error instanceof RangeError),
  },
];

/** Values that decoders of other frameworks take for classes, code or prototypes. */
const payloads: readonly string[] = [
  '{"lc":1,"type":"constructor","id":["os","system"],"kwargs":{}}',
  '{"$type":"System.Diagnostics.Process"}',
  '{"__class__":"os.system"}',
  '{"type":"Buffer","data":[1,2]}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"code":"constructor"}',
  '{"code":"__proto__"}',
  '{"code":"toString"}',
  '{"code":"hasOwnProperty","message":{}}',
  '{"toJSON":"x","then":"x","valueOf":1,"toString":1}',
  '{"length":4294967295}',
  "[[[[[[[[]]]]]]]]",
  '"\\ud800"',
  "1e308",
  "-1",
  "0.5",
  "null",
  "true",
  '""',
  "[]",
  "{}",
];

/** One change of a value: an insertion or a removal. The numbers choose the position. */
const change = fc.record({
  place: fc.array(fc.nat({ max: 20 }), { maxLength: 6 }),
  put: fc.oneof(
    fc.constantFrom(...payloads).map((text): unknown => JSON.parse(text)),
    fc.jsonValue({ maxDepth: 2 }),
  ),
  how: fc.constantFrom("replace", "remove", "add", "repeat"),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns a copy of a value with a change. */
function applyChange(value: unknown, { place: [at, ...deeper], put, how }: Change): unknown {
  if (typeof value === "string" && typeof put === "string" && at !== undefined)
    return value.slice(0, at * 3) + put + value.slice(how === "repeat" ? 0 : at * 3);
  if (at === undefined || typeof value !== "object" || value === null) return put;
  const entries = Object.entries(value);
  if (entries.length === 0) return put;
  const index = at % entries.length;
  const [key = "0", inner] = entries[index] ?? [];
  const made: [string, unknown][] =
    deeper.length > 0 || how === "replace"
      ? entries.with(index, [key, applyChange(inner, { place: deeper, put, how })])
      : how === "remove"
        ? entries.toSpliced(index, 1)
        : [...entries, [how === "add" ? JSON.stringify(put) : `${key}x`, put]];
  return Array.isArray(value) ? made.map(([, each]) => each) : Object.fromEntries(made);
}

test.each(decoders)("the golden $name is decoded", ({ golden, decode, isRefusal, name }) => {
  const outcome = decode(golden);
  expect(isRefusal(outcome)).toBe(name === "error");
});

test.each(decoders)(
  "a mutated $name is decoded or refused with its declared error, quickly, and no prototype changes",
  ({ golden, decode, isRefusal, isTypedError = never }) => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    let refusals = 0;
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const changed = changes.reduce<unknown>(applyChange, golden);
      const given: Json = JSON.parse(JSON.stringify(changed ?? null));
      const copy = JSON.stringify(given);
      const { outcome, error } = attempt(decode, given);
      if (error !== undefined || isRefusal(outcome)) refusals += 1;
      expect([error, error === undefined || isTypedError(error)]).toEqual([error, true]);
      expect(JSON.stringify(given)).toBe(copy);
      expect(Reflect.get({}, "admin")).toBeUndefined();
      // Decoded values are plain data: a round trip changes nothing.
      const data = outcome === undefined || ReeveError.is(outcome) ? null : outcome;
      expect(JSON.parse(JSON.stringify(data))).toEqual(data);
    });
    fc.assert(property, { numRuns });
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(refusals).toBeGreaterThan(numRuns / 20);
  },
);

/** Returns the decoded value, or throws. */
function attempt(
  decode: (value: Json) => unknown,
  value: Json,
): { readonly outcome?: unknown; readonly error?: unknown } {
  try {
    return { outcome: decode(value) };
  } catch (error) {
    return { error };
  }
}

test.each(payloads)("every decoder reads %s as plain data", (text) => {
  for (const { decode, isRefusal, isTypedError = never, name } of decoders) {
    const { outcome, error } = attempt(decode, JSON.parse(text));
    const isRefused = error === undefined ? isRefusal(outcome) : isTypedError(error);
    expect([name, error, isRefused || name === "cursor of a page"]).toEqual([name, error, true]);
  }
});
