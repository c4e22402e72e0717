import assert from "node:assert/strict";
import { allowAll } from "#agents";
import { Json, type Agent, type RunContext, type Tool, type ToolFlow } from "#kernel";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";

const web: ToolFlow = { origin: "web", egress: false };
const secret: ToolFlow = { sensitivity: "private" };

export interface Desk {
  readonly mailed: Json[];
  readonly read: string[];
  readonly tools: readonly Tool[];
}

/** Creates one tool that reads the web, one that reads secrets, and one that sends data out. */
export function desk(): Desk {
  const mailed: Json[] = [];
  const read: string[] = [];
  const mail = effect("mail", async (input) => (mailed.push(input), "sent"));
  const tools: readonly Tool[] = [
    { ...effect("read_web", async () => (read.push("web"), "a page")), ...web },
    { ...effect("read_secret", async () => (read.push("secret"), "a secret")), ...secret },
    { ...mail, risk: "high" },
    { ...mail, name: "post", egress: true },
  ];
  return { mailed, read, tools };
}

/** Makes calls in sequence, and returns the outcome of the last one. */
export async function calls(ctx: RunContext, ...names: readonly string[]): Promise<string> {
  let last = "";
  for (const name of names) {
    const [block] = (await ctx.tool(name, { to: name })).content;
    last = block?.type === "text" ? block.text : "";
  }
  return last;
}

export const refusal = /seen both untrusted and private content, and this run has no approver/;

/** Creates an agent that may call every tool, restricted only by the rule of two. */
export const unrestrictedAgent = (name: string, { tools }: Desk, run: Agent["run"]): Agent =>
  agentOf(name, run, { tools, policy: { permissions: allowAll } });

/** Runs a root with children. Its return value is the output. */
export function labelCase(
  name: string,
  agents: (desk: Desk) => readonly [Agent, ...Agent[]],
  check: (output: Json, desk: Desk) => void,
): EngineCase {
  const run = async (harness: SuiteHarness): Promise<void> => {
    const made = desk();
    const [root, ...others] = agents(made);
    await onRuntime(harness, { agents: [root, ...others], maxRestarts: 3 }, async (runtime) => {
      const { status, output } = await (await runtime.start(root, "go")).result();
      assert.equal(status, "completed");
      check(output, made);
    });
  };
  return { name, run };
}

export const assertMailRefused = (output: Json, { mailed }: Desk): void => {
  assert.match(Json.as<string>(output), refusal);
  assert.deepEqual(mailed, []);
};
export const assertMailSent = (output: Json, { mailed }: Desk): void => {
  assert.equal(output, "sent");
  assert.equal(mailed.length, 1);
};
