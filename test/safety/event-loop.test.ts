import { hasInexactNumber } from "#base";
import { expect, test } from "vitest";
import { toShownMcpResult } from "../../src/mcp/content.ts";
import { parseSkillFile } from "../../src/profile/skill-file.ts";
import { readBody } from "../../src/server/gate.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { cpuMs } from "../cpu-time.ts";

/** Repeats a text up to a size. */
const fill = (part: string, size: number): string => part.repeat(Math.floor(size / part.length));

const body = defaultLimits.bodyBytes - 100;
/** JSON texts of the largest body that a request may have without files. */
const bodies: Readonly<Record<string, string>> = {
  "short numbers": `[${fill("1,", body)}1234567890123456]`,
  "long numbers": `[${fill("1234567890123456,", body)}1]`,
  "empty texts": `[${fill('"",', body)}1234567890123456]`,
  escapes: `[1234567890123456,"${fill("\\\\", body)}"]`,
  "one text": `["${fill("1234567890123456", body)}"]`,
};

/** Returns the shortest of some measurements: the first may pay for compiling. */
const shortest = (act: () => void): number => Math.min(...Array.from({ length: 5 }, () => cpuMs(act)));

test.each(Object.entries(bodies))(
  "checking the numbers of the largest body of %s takes < 50 ms",
  (_, text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(shortest(() => expect(hasInexactNumber(text)).toBe(false))).toBeLessThan(50);
  },
);

/** Reads a body as the largest upload. */
const upload = (text: string): Promise<unknown> => {
  const headers = { "content-type": "application/json" };
  return readBody(
    new Request("http://x/", { method: "POST", headers, body: text }),
    defaultLimits.uploadBytes,
  );
};

test.each(["[],", "1,", '"",', "   "])(
  "an upload of many %j is refused before it is parsed",
  async (part) => {
    await expect(upload(`[${fill(part, 4 * body)}1]`)).rejects.toThrow(
      "at most 1048576 bytes outside strings",
    );
  },
);

test("an upload with a large string is read, whatever characters the string has", async () => {
  const text = fill('["\\],é', 3 * body);
  expect(await upload(JSON.stringify({ text }))).toEqual({ text });
});

test.each([
  ["only front matter", `---\nname: a\n${fill("# \n", 99_900)}`],
  ["a body of delimiters", `---\nname: a\ndescription: x\n---x\n${fill("---\n", 99_900)}`],
  ["spaces after a delimiter", `---\nname: a\n${fill("---  \t", 99_900)}x`],
])("reading the largest SKILL.md with %s takes < 50 ms", (_, text) => {
  expect(text.length).toBeLessThanOrEqual(100_000);
  expect(shortest(() => expect(() => parseSkillFile(text, "b")).toThrow(/must|line/u))).toBeLessThan(50);
});

test.each<[string, object]>([
  ["texts", { content: Array.from({ length: 4_900 }, () => ({ type: "text", text: "x".repeat(170) })) }],
  ["lists", { content: [], structuredContent: { list: Array.from({ length: 330_000 }, () => []) } }],
])("converting the largest MCP result of %s takes < 50 ms", (_, result) => {
  expect(JSON.stringify(result).length).toBeLessThanOrEqual(1_000_000);
  expect(shortest(() => void toShownMcpResult(result))).toBeLessThan(50);
});
