import { expect, test } from "vitest";
import { parseSkillFile } from "../../src/profile/skill-file.ts";

const parse = (head: string, folder = "report") => parseSkillFile(`---\n${head}\n---\nBody.\n`, folder);

test("front matter with plain and quoted values, conventional keys and Windows line ends is decoded", () => {
  const plain = { name: "report", description: "Writes: reports # all.", body: "Body." };
  expect(parse("name: report\ndescription: Writes: reports # all.")).toEqual(plain);
  expect(parse("name: \"report\"\ndescription: 'It''s \"x\"'")).toMatchObject({ description: 'It\'s "x"' });
  const more = "license: MIT\n# a comment\nmetadata:\n  author: ada\n  tags: [a]\nallowed-tools: Read";
  expect(parse(`name: report\ndescription: X.\n${more}`)).toMatchObject({ name: "report" });
  expect(parseSkillFile("---\r\nname: report\r\ndescription: X.\r\n---\r\nBody.", "report").body).toBe(
    "Body.",
  );
  expect(parseSkillFile("---\nname: report\ndescription: X.\n---", "report").body).toBe("");
});

test.each([
  ["name: report", /description must have 1 to 1024 characters, got 0/],
  [`name: report\ndescription: ${"x".repeat(1_025)}`, /got 1025/],
  ["name: Report\ndescription: X.", /name must be 1 to 64 lower-case/],
  ["name: other\ndescription: X.", /name must equal its folder's name, report, got other/],
  ["name: report\nname: report\ndescription: X.", /name is set twice/],
  ["name: report\ndescription: X.\ncommand: rm", /not a line of front matter: "command: rm"/],
  ["name: report\ndescription: >\n  folded", /description must be a string on one line/],
  ["name: report\ndescription: X.\n  more", /not a line of front matter: " {2}more"/],
  ['name: report\ndescription: "open', /description is not a valid string in double quotes/],
  ["name: report\ndescription: 'it's'", /description is not a valid string in single quotes/],
  ["__proto__: x\nname: report\ndescription: X.", /not a line/],
])("front matter %j is refused", (head, message) => {
  expect(() => parse(head)).toThrow(message);
});

test("a file without front matter is refused, whatever its length", () => {
  expect(() => parseSkillFile("name: report", "report")).toThrow(/must begin with front matter/);
  const long = `---\n${"-".repeat(50_000)}\n`.repeat(2);
  expect(() => parseSkillFile(long, "report")).toThrow(/front matter/);
});
