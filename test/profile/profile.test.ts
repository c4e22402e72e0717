import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { agent, createRuntime } from "reeve";
import { profile } from "reeve/profile";
import { call, manualClock, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { folderOf, promptOf, systems } from "./prompt-of.ts";

test("the prompt of a full profile is the golden one, section by section", async () => {
  const folder = resolve("test/fixtures/profiles/ada");
  const model = scriptedModel([say("done")]);
  const ada = agent({ name: "ada", model, instructions: "Unused.", profile: profile(folder) });
  await using runtime = createRuntime({
    agents: [ada],
    clock: manualClock(Date.UTC(2026, 10, 16, 9)),
    workingDirectory: "/srv/reports",
  });
  const talk = await runtime.sessions.create(ada, { id: "s1", channel: "telegram" });
  await talk.invoke("go");
  const golden = readFileSync("test/golden/profile-prompt.txt", "utf8");
  const shown = `${systems(model)[0]?.replaceAll(folder, "<profile>")}\n`;
  expect(shown.split("\n\n")).toEqual(golden.split("\n\n"));
});

test("SYSTEM.md is the identity, else SOUL.md, else the instructions", async () => {
  const files = { "SYSTEM.md": "System.", "SOUL.md": "Soul." };
  const options = { instructions: "Instructions." };
  expect((await promptOf(profile(folderOf(files)), options)).text).toBe("System.");
  expect((await promptOf(profile(folderOf({ "SOUL.md": "Soul." })), options)).text).toBe("Soul.");
  expect((await promptOf(profile(folderOf({})), options)).text).toBe("Instructions.");
  expect((await promptOf(profile(folderOf({})))).text).toBe("You are a helpful assistant.");
});

test("MEMORY.md is read again when it changes, other files after a reload, and the prompt before them stays", async () => {
  const folder = folderOf({ "SOUL.md": "Soul.", "AGENTS.md": "Agents.", "MEMORY.md": "One." });
  const model = scriptedModel([say("done")]);
  const ada = agent({ name: "ada", model, profile: profile(folder) });
  await using runtime = createRuntime({ agents: [ada] });
  const talk = await runtime.sessions.create(ada);
  await talk.invoke("go");
  writeFileSync(join(folder, "MEMORY.md"), "Two and more.");
  writeFileSync(join(folder, "AGENTS.md"), "Other agents.");
  await talk.invoke("go");
  await talk.reload();
  await talk.invoke("go");
  expect(systems(model).map((text) => text.split("\n\nCurrent date")[0])).toEqual([
    "Soul.\n\nAgents.\n\n# Memory\n\nOne.",
    "Soul.\n\nAgents.\n\n# Memory\n\nTwo and more.",
    "Soul.\n\nOther agents.\n\n# Memory\n\nTwo and more.",
  ]);
});

test("nothing outside the folder is read, and links inside it are followed", async () => {
  const outside = folderOf({ "secret.md": "heron", "skills/stolen/SKILL.md": "heron" });
  const folder = folderOf({ "SOUL.md": "Soul.", "real.md": "Agents.", "knowledge/own.md": "Own." });
  symlinkSync(join(outside, "secret.md"), join(folder, "USER.md"));
  symlinkSync(join(outside, "secret.md"), join(folder, "knowledge/secret.md"));
  symlinkSync(join(outside, "skills"), join(folder, "skills"));
  symlinkSync("real.md", join(folder, "AGENTS.md"));
  const { text, log } = await promptOf(profile(folder));
  expect(text).toMatch(/^Soul\.\n\nAgents\.\n\n# Knowledge\n\n## own\.md\n\nOwn\./);
  expect(text).not.toContain("heron");
  expect(log.toSorted()).toEqual([
    "section USER.md: USER.md is outside the profile folder",
    "section knowledge: knowledge/secret.md is outside the profile folder",
    "section skills: skills is outside the profile folder",
  ]);
});

test("a file that is too large, no text or no file is left out and reported; the rest of the prompt stays", async () => {
  const folder = folderOf({
    "SOUL.md": "Soul.",
    "AGENTS.md": "x".repeat(100_001),
    "USER.md": new Uint8Array([0xff, 0xfe, 0x41]),
  });
  mkdirSync(join(folder, "MEMORY.md"));
  const { text, log } = await promptOf(profile(folder));
  expect(text).toBe("Soul.");
  expect(log.toSorted()).toEqual([
    "section AGENTS.md: AGENTS.md has 100001 bytes; at most 100000 are allowed",
    "section MEMORY.md: MEMORY.md is not a file",
    "section USER.md: USER.md is not UTF-8 text",
  ]);
});

test("knowledge is shown up to its limit, and the rest is listed by name", async () => {
  const files = {
    "knowledge/a.md": "A".repeat(40_000),
    "knowledge/b.txt": "B".repeat(40_000),
    "knowledge/c.md": "C",
  };
  const folder = folderOf(files);
  const { text } = await promptOf(profile(folder));
  expect(text).toContain(`## a.md\n\n${files["knowledge/a.md"]}\n\n## c.md\n\nC`);
  expect(text).toContain(`Further files, not shown:\n- ${folder}/knowledge/b.txt (40000 bytes)`);
});

test("a skill is listed, the tool reads its text, and an unknown name gets the list", async () => {
  const model = scriptedModel([
    call("skill", { name: "weekly-report" }, ["skill", { name: "../../SOUL.md" }], ["skill", {}]),
    say("done"),
  ]);
  const ada = agent({ name: "ada", model, profile: profile("test/fixtures/profiles/ada") });
  await using runtime = createRuntime({ agents: [ada] });
  await (await runtime.start(ada, "go")).result();
  expect(systems(model)[0]).not.toContain("Write three sentences");
  const results = model.requests[1]?.messages.at(-1)?.content;
  expect(results).toMatchObject([
    {
      isError: false,
      content: [{ text: "# Weekly report\n\n1. Read the figures.\n2. Write three sentences." }],
    },
    {
      isError: true,
      content: [{ text: expect.stringContaining("skills: check-figures, weekly-report") }],
    },
    { isError: true, content: [{ text: expect.stringContaining("name must be a string") }] },
  ]);
});

test("a broken skill is left out and reported, and the others are listed", async () => {
  const good = "---\nname: good\ndescription: Good.\n---\nBody.";
  const folder = folderOf({
    "skills/good/SKILL.md": good,
    "skills/other/SKILL.md": good,
    "skills/bare/SKILL.md": "No front matter.",
    "skills/empty/notes.md": "No skill here.",
    "skills/README.md": "No folder.",
  });
  const { text, log } = await promptOf(profile(folder));
  expect(text.match(/<name>.*<\/name>/g)).toEqual(["<name>good</name>"]);
  expect(log.toSorted()).toEqual([
    "section skills: skills/bare/SKILL.md: it must begin with front matter between two lines of ---",
    "section skills: skills/other/SKILL.md: name must equal its folder's name, other, got good",
  ]);
});

test("a profile without skills brings no tool; one that is not a folder is refused", () => {
  const model = scriptedModel([say("done")]);
  const bare = profile(folderOf({ "SOUL.md": "Soul." }));
  expect(agent({ name: "ada", model, profile: bare }).tools).toEqual([]);
  const full = agent({ name: "ada", model, profile: profile("test/fixtures/profiles/ada") });
  expect(full.tools.map(({ name }) => name)).toEqual(["skill"]);
  expect(agent({ ...full, name: "eve" }).tools.map(({ name }) => name)).toEqual(["skill"]);
  expect(() => profile("test/no-such-folder")).toThrow(/"test\/no-such-folder" is not a folder: create it/);
});

test("memory that others may write makes the run untrusted", async () => {
  const model = scriptedModel([say("done")]);
  const folder = folderOf({ "MEMORY.md": "A note." });
  const agents = [
    agent({ name: "own", model, profile: profile(folder) }),
    agent({ name: "shared", model, profile: profile(folder, { memoryTrust: "untrusted" }) }),
  ];
  await using runtime = createRuntime({ agents });
  const results = await Promise.all(agents.map(async (one) => (await runtime.start(one, "go")).result()));
  expect(results[0]?.labels).toBeUndefined();
  expect(results[1]?.labels).toMatchObject({ untrusted: true, sources: [{ name: "MEMORY.md" }] });
});
