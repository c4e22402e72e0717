import { hasInexactNumber } from "#base";
import { Json, MessageId, RunId, TopicId } from "#kernel";
import { expect, test } from "vitest";
import { toShownMcpResult } from "../../src/mcp/content.ts";
import { parseSkillFile } from "../../src/profile/skill-file.ts";
import { readBody } from "../../src/server/gate.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { maxEventBytes } from "#tree";
import { cpuMs } from "../cpu-time.ts";
import { LazyTree } from "../tree/lazy-tree.ts";
import { expectWithin } from "../effort.ts";

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
    expectWithin(
      50,
      shortest(() => expect(hasInexactNumber(text)).toBe(false)),
    );
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

test.each(["\\n", "\\u00e9", '\\"'])(
  "an upload of many escapes %j in a string is refused before it is parsed",
  async (part) => {
    const bytes = part.length * defaultLimits.bodyBytes;
    await expect(upload(`["${fill(part, bytes + 100)}"]`)).rejects.toThrow("escapes in strings included");
  },
);

test("a number that is too large is found outside strings alone", async () => {
  const digits = fill("1234567890", 3 * body);
  expect(await upload(`{"12345678901234567890\\"1e999":["${digits}",123456789]}`)).toEqual({
    '12345678901234567890"1e999': [digits, 123_456_789],
  });
  await expect(upload(`["${digits}",12345678901234567890]`)).rejects.toThrow("too large to be stored");
  await expect(upload('{"a":"1","b":1e999}')).rejects.toThrow("too large to be stored");
});

/** Sends a text in parts, as a connection does. */
function streamOf(text: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text);
  let at = 0;
  return new ReadableStream({
    pull(to) {
      to.enqueue(bytes.subarray(at, (at += 65_536)));
      if (at >= bytes.length) to.close();
    },
  });
}

test("other work has its turn while the largest upload is read", async () => {
  const text = JSON.stringify("A".repeat(defaultLimits.uploadBytes - 100));
  const headers = { "content-type": "application/json" };
  const request = new Request("http://x/", { method: "POST", headers, body: streamOf(text), duplex: "half" });
  const turns: number[] = [];
  const noteTurn = (): void => {
    turns.push(process.cpuUsage().user);
    next = setImmediate(noteTurn);
  };
  let next = setImmediate(noteTurn);
  const read = await readBody(request, defaultLimits.uploadBytes);
  clearImmediate(next);
  expect(read).toHaveLength(text.length - 2);
  // Joining, decoding and parsing are separate pieces of work.
  expect(turns.length).toBeGreaterThanOrEqual(2);
});

/** Data of the largest event. */
const eventData: Readonly<Record<string, string>> = {
  lists: `[${fill("[],", maxEventBytes - 100)}1]`,
  objects: `[${fill('{"a":1},', maxEventBytes - 100)}1]`,
  keys: `{${Array.from({ length: 25_000 }, (_, index) => `"${10_000 + index}":1`).join()}}`,
  escapes: `"${fill("\\n", maxEventBytes - 100)}"`,
};

test.each(Object.entries(eventData))(
  "writing and reading the largest event with %s takes < 50 ms",
  (_, data) => {
    const tree = new LazyTree({ maxAgents: 2 });
    const emit = {
      ...tree.from(tree.root),
      topic: TopicId.of("progress", RunId.tree(tree.root)),
      data: Json.of(JSON.parse(data)),
    };
    const write = (): void => void tree.call("emit", { ...emit, messageId: MessageId.of(tree.id()) });
    write();
    expect(tree.events("progress.emitted")).toHaveLength(1);
    expectWithin(
      50,
      shortest(() => void tree.call("events", { after: 0, limit: 100 })),
    );
    expectWithin(50, shortest(write));
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
  expectWithin(
    50,
    shortest(() => expect(() => parseSkillFile(text, "b")).toThrow(/must|line/u)),
  );
});

test.each<[string, object]>([
  ["texts", { content: Array.from({ length: 4_900 }, () => ({ type: "text", text: "x".repeat(170) })) }],
  ["lists", { content: [], structuredContent: { list: Array.from({ length: 330_000 }, () => []) } }],
])("converting the largest MCP result of %s takes < 50 ms", (_, result) => {
  expect(JSON.stringify(result).length).toBeLessThanOrEqual(1_000_000);
  expectWithin(
    50,
    shortest(() => void toShownMcpResult(result)),
  );
});
