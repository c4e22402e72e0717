import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agent, ChatMessage, createRuntime, type AgentOptions, type Extension } from "reeve";
import { say, scriptedModel, type ScriptedModel } from "reeve/testing";
import { onTestFinished } from "vitest";

/** Makes a folder with these files, for one test. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "reeve-profile-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export const systems = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) => (first?.role === "system" ? ChatMessage.text(first) : ""));

/**
 * Lets an agent with a profile answer once. Returns its system message without the footer, and the reported problems.
 */
export async function promptOf(
  given: Extension,
  rest: Partial<AgentOptions> = {},
): Promise<{ readonly text: string; readonly log: readonly string[] }> {
  const model = scriptedModel([say("done")]);
  const log: string[] = [];
  const ada = agent({ name: "ada", model, profile: given, ...rest });
  await using runtime = createRuntime({
    agents: [ada],
    log: ({ diagnostic: { source, message } }) => void log.push(`${source}: ${message}`),
  });
  await (await runtime.start(ada, "go")).result();
  return { text: systems(model)[0]?.split("\n\nCurrent date: ")[0] ?? "", log };
}
