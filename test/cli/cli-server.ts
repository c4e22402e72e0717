import { type Agent, agent, createRuntime, type Model, type Runtime, tool } from "reeve";
import { type apiKeys, type Limits, listen } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

const publish = tool({
  name: "publish",
  description: "Publish a report",
  input: z.object({ report: z.string() }),
  risk: "high",
  execute: async ({ report }) => `published ${report}`,
});

export const price = { input: 3_000_000, output: 15_000_000 };
export const priced = (model: Model): Model => ({ ...model, price });

/** An agent that asks before it sells, and one that only answers. */
const staff = () =>
  [
    agent({
      name: "lead",
      model: priced(scriptedModel([call("publish", { report: "heat pumps" }), say("published it")])),
      tools: [publish],
    }),
    agent({ name: "writer", model: priced(scriptedModel([say("done")])) }),
  ] as const satisfies readonly Agent[];

/** A server on a port of this machine, and the command line before it. */
export class CliServer implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(runtime: Runtime, url: string, close: () => Promise<void>) {
    this.runtime = runtime;
    this.url = url;
    this.#close = close;
  }

  static async open({
    agents = staff(),
    ...options
  }: {
    readonly auth?: ReturnType<typeof apiKeys>;
    readonly agents?: readonly Agent[];
    readonly limits?: Limits;
  } = {}): Promise<CliServer> {
    const runtime = createRuntime({ agents, store: memoryStore(), approver: "human" });
    const listener = await listen({ runtime, port: 0, ...options });
    return new CliServer(runtime, listener.url, async () => listener[Symbol.asyncDispose]());
  }

  /** Returns an agent of the server by its name. */
  agent(name: string): Agent {
    const found = this.runtime.agents.find(({ id }) => id === name);
    if (!found) throw new TypeError(`no agent ${name}`);
    return found;
  }

  /** Runs a command to its end. */
  async reeve(...words: readonly string[]): Promise<{ code: number; said: string; complained: string }> {
    const terminal = this.terminal();
    const code = await main(words, terminal);
    return { code, said: terminal.said, complained: terminal.complained };
  }

  terminal(options: ConstructorParameters<typeof FakeTerminal>[0] = {}): FakeTerminal {
    return new FakeTerminal({ ...options, environment: { REEVE_URL: this.url, ...options.environment } });
  }

  /** Resolves when a tree waits for approval. */
  async waitForApproval(tree: string): Promise<void> {
    for await (const event of this.runtime.run(tree).events())
      if (event.type === "approval.requested") return;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.runtime[Symbol.asyncDispose]();
  }
}
