// A profile: persona, memory and skills of an agent are files in a folder.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, ChatMessage, createRuntime } from "reeve";
import { profile } from "reeve/profile";
import { call, say, scriptedModel } from "reeve/testing";

const folder = await mkdtemp(join(tmpdir(), "reeve-ada-"));
await mkdir(join(folder, "skills/weekly-report"), { recursive: true });
await writeFile(join(folder, "SOUL.md"), "You are Ada, who prepares reports.");
await writeFile(join(folder, "MEMORY.md"), "The last report was sent on Monday.");
await writeFile(
  join(folder, "skills/weekly-report/SKILL.md"),
  "---\nname: weekly-report\ndescription: Writes the report of a week.\n---\nWrite three sentences.",
);

const model = scriptedModel([
  call("skill", { name: "weekly-report" }),
  say("Sales grew. Costs fell. All is well."),
  say("On Friday."),
]);
const ada = agent({ name: "ada", model, profile: profile(folder) });
await using runtime = createRuntime({ agents: [ada] });
const talk = await runtime.sessions.create(ada, { user: "grace", channel: "telegram" });

/** The paragraphs of the system message that the model was last sent. */
const paragraphs = (): readonly string[] => {
  const [system] = model.requests.at(-1)?.messages ?? [];
  return system ? ChatMessage.text(system).split("\n\n") : [];
};

// The prompt has the persona, the memory, the list of skills, a hint for the channel and a footer.
await talk.invoke("Write the report");
assert.equal(paragraphs()[0], "You are Ada, who prepares reports.");
assert.deepEqual(paragraphs().slice(1, 3), ["# Memory", "The last report was sent on Monday."]);
assert.match(paragraphs().join("\n"), /<name>weekly-report<\/name>.*You answer on Telegram/s);

// The text of a skill is read when the model asks for it.
const result = model.requests[1]?.messages.at(-1);
assert.match(JSON.stringify(result), /Write three sentences/);

// Changed memory is shown in the next turn. Everything before it is unchanged, so the provider's cache remains valid.
await writeFile(join(folder, "MEMORY.md"), "The last report was sent on Friday.");
await talk.invoke("When was the last report sent?");
assert.equal(paragraphs()[0], "You are Ada, who prepares reports.");
assert.equal(paragraphs()[2], "The last report was sent on Friday.");
await rm(folder, { recursive: true });
