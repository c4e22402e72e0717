import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, createRuntime, type Extension } from "reeve";
import { profile } from "reeve/profile";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { folderOf, promptOf } from "./prompt-of.ts";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const skill = (body: string): string => `---\nname: weekly\ndescription: Writes.\n---\n\n${body}\n`;
const texts = {
  "SYSTEM.md": "You are Ada.",
  "AGENTS.md": "Be brief.",
  "knowledge/facts.md": "It was built in 1987.",
  "skills/weekly/SKILL.md": skill("Read the figures."),
};
const pins = Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, hashOf(text)]));

test("with pins, unchanged texts are shown", async () => {
  const { text, log } = await promptOf(profile(folderOf(texts), { texts: pins }));
  expect(log).toEqual([]);
  for (const part of ["You are Ada.", "Be brief.", "built in 1987", "<name>weekly</name>"])
    expect(text).toContain(part);
});

test.each(Object.keys(texts))("with pins, %s is not shown after it was replaced", async (path) => {
  const swapped = path.endsWith("SKILL.md") ? skill("obey-canary") : "obey-canary";
  const folder = folderOf({ ...texts, [path]: swapped.replace("Writes", "obey-canary") });
  const { text, log } = await promptOf(profile(folder, { texts: pins }));
  expect(text).not.toContain("obey-canary");
  expect(log).toEqual([expect.stringContaining(`file ${path} has changed`)]);
});

test("with pins, a text without a pin is not shown, and a pinned one that is missing is reported", async () => {
  const { "SYSTEM.md": _, ...others } = texts;
  const folder = folderOf({
    ...others,
    "SOUL.md": "obey-canary",
    "knowledge/new.md": "obey-canary",
    "skills/new/SKILL.md": skill("x").replaceAll("weekly", "new").replace("Writes", "obey-canary"),
  });
  const { text, log } = await promptOf(profile(folder, { texts: pins }));
  expect(text).not.toContain("obey-canary");
  expect(log.toSorted()).toEqual([
    expect.stringContaining("pinned file SYSTEM.md is missing"),
    expect.stringContaining("file knowledge/new.md has no pin"),
    expect.stringContaining("file skills/new/SKILL.md has no pin"),
  ]);
});

test("with pins, the tool reads no skill that was swapped after it was listed", async () => {
  const folder = folderOf(texts);
  const model = scriptedModel([
    call("skill", { name: "weekly" }),
    call("skill", { name: "weekly" }),
    say("done"),
  ]);
  let reads = 0;
  const ada = agent({
    name: "ada",
    model,
    profile: profile(folder, { texts: pins }),
    permissions: {
      decide: () => {
        if ((reads += 1) === 2) writeFileSync(join(folder, "skills/weekly/SKILL.md"), skill("obey-canary"));
        return "allow";
      },
    },
  });
  await using runtime = createRuntime({ agents: [ada], log: () => undefined });
  await (await runtime.start(ada, "go")).result();
  const shown = model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? [];
  const results = shown.flatMap((block) => (block.type === "tool-result" ? [JSON.stringify(block)] : []));
  expect(results[0]).toContain("Read the figures.");
  expect(results[1]).toContain("file skills/weekly/SKILL.md has changed");
  expect(results.join()).not.toContain("obey-canary");
});

test.each(Object.keys(texts))("with pins, %s is reported once it is missing", async (path) => {
  const folder = folderOf(texts);
  rmSync(join(folder, path));
  const { log } = await promptOf(profile(folder, { texts: pins }));
  expect(log).toEqual([expect.stringContaining(`pinned file ${path} is missing`)]);
});

test("with pins, each file of a missing folder is reported, even if the folder never existed", async () => {
  const folder = folderOf({ "SYSTEM.md": texts["SYSTEM.md"], "AGENTS.md": texts["AGENTS.md"] });
  const { log } = await promptOf(profile(folder, { texts: pins }));
  expect(log.toSorted()).toEqual([
    expect.stringContaining("pinned file knowledge/facts.md is missing"),
    expect.stringContaining("pinned file skills/weekly/SKILL.md is missing"),
  ]);
});

test("with pins, the name of a file without a pin is not shown", async () => {
  const folder = folderOf({ ...texts, "knowledge/obey-canary.pdf": "x", "knowledge/chart.png": "x" });
  const named = { ...pins, "knowledge/chart.png": hashOf("x") };
  const { text, log } = await promptOf(profile(folder, { texts: named }));
  expect(text).not.toContain("obey-canary");
  expect(text).toContain("chart.png (1 bytes)");
  expect(log).toEqual([expect.stringContaining("file knowledge/obey-canary.pdf has no pin")]);
});

/** Returns the labels of a run with this profile. */
async function labelsOf(given: Extension): Promise<unknown> {
  const ada = agent({ name: "ada", model: scriptedModel([say("done")]), profile: given });
  await using runtime = createRuntime({ agents: [ada] });
  return (await (await runtime.start(ada, "go")).result()).labels;
}

test.each(["MEMORY.md", "USER.md"])("with pins, a run that is shown %s is untrusted", async (path) => {
  const folder = folderOf({ ...texts, [path]: "A note." });
  expect(await labelsOf(profile(folder))).toBeUndefined();
  expect(await labelsOf(profile(folder, { texts: pins }))).toMatchObject({
    untrusted: true,
    sources: [{ name: path }],
  });
});

test("with pins, texts that the owner vouches for are trusted: MEMORY.md by the option, USER.md by its pin", async () => {
  const folder = folderOf({ ...texts, "MEMORY.md": "A note.", "USER.md": "Eve." });
  const options = { texts: { ...pins, "USER.md": hashOf("Eve.") }, memoryTrust: "trusted" } as const;
  expect(await labelsOf(profile(folder, options))).toBeUndefined();
  writeFileSync(join(folder, "USER.md"), "obey-canary");
  const { text, log } = await promptOf(profile(folder, options));
  expect(text).not.toContain("obey-canary");
  expect(log).toEqual([expect.stringContaining("file USER.md has changed")]);
});

test.each(["MEMORY.md", "knowledge/deep/facts.md", "skills/weekly/notes.md", "extensions/a.ts", "agents.md"])(
  "a pin of %s, which no section checks, is refused",
  (path) => {
    expect(() => profile(folderOf(texts), { texts: { ...pins, [path]: hashOf("x") } })).toThrow(
      `a pin of ${path} would have no effect`,
    );
  },
);
