import { type Agent, AgentId, ChatMessage, Json, type Model, ModelError, type ModelResponse } from "reeve";
import type { ModelCall } from "#kernel";
import { expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { screenOf } from "./screen-of.ts";
import { price, CliServer } from "./cli-server.ts";

/** A model that speaks as the test lets it, one piece at a time. */
class Speaker implements Model {
  readonly id = "speaker";
  readonly price = price;
  /** Number of calls. */
  asked = 0;
  #said = "";
  #tell: (text: string) => void = () => undefined;
  #answer = Promise.withResolvers<void>();

  async generate(_request: unknown, { onDelta }: ModelCall): Promise<ModelResponse> {
    this.#said = "";
    this.#tell = (text) => onDelta?.({ kind: "text", text });
    this.#answer = Promise.withResolvers();
    this.asked += 1;
    await this.#answer.promise;
    const message = ChatMessage.assistant(this.#said);
    return { message, usage: { input: 10, output: 5 }, finishReason: "stop" };
  }

  say(text: string): void {
    this.#said += text;
    this.#tell(text);
  }

  end(): void {
    this.#answer.resolve();
  }

  fail(error: Error): void {
    this.#answer.reject(error);
  }
}

/** An agent that starts once a subscriber is certain: a model in this process streams only then. */
const writerWith = (model: Model): Agent => ({
  id: AgentId.of("writer"),
  run: async (ctx) => {
    await ctx.waitFor("go");
    return ChatMessage.text((await ctx.llm([ChatMessage.user("write")], { model })).message);
  },
});

test("text shows while it streams, below its run; a failed attempt leaves nothing", async () => {
  const model = new Speaker();
  await using server = await CliServer.open({ agents: [writerWith(model)] });
  const terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  const running = main(["run", "writer", "write", "--id", "t9"], terminal);
  const shown = (): string => screenOf(terminal.said).join("\n");
  await expect.poll(shown).toContain("● running");
  await server.runtime.run("t9").signal("go");
  await expect.poll(shown).toContain("calling speaker");
  model.say("Dear team,\nthe pump was");
  await expect.poll(shown).toMatch(/\nwriter +● running .*\n {2}“the pump was\n/);
  model.say(" built");
  await expect.poll(shown).toContain("  “the pump was built\n");
  model.fail(new ModelError({ kind: "server-error", message: "cut off", retryAfterMs: 300 }));
  await expect.poll(() => model.asked).toBe(2);
  await expect.poll(shown).not.toContain("“");
  model.say("Once more: ");
  await expect.poll(shown).toContain("  “Once more:\n");
  model.say("Ada.");
  model.end();
  expect(await running).toBe(0);
  expect(shown()).toMatch(/^tree t9 .*\nOnce more: Ada\.\n\n✓ completed: answered\n/);
  expect(shown()).not.toContain("“");
});

test("as JSON pieces of answers come where they are asked for, and the events are the same", async () => {
  const model = new Speaker();
  await using server = await CliServer.open({ agents: [writerWith(model)] });
  const terminal = server.terminal();
  const running = main(["run", "writer", "write", "--id", "t10", "--json", "--deltas"], terminal);
  await expect.poll(() => terminal.said).toContain("run.start");
  await server.runtime.run("t10").signal("go");
  const lines = (): readonly { type: string; kind?: string; text?: string; seq?: number }[] =>
    terminal.said
      .split("\n")
      .slice(0, -1)
      .map((line) => Json.as(Json.of(JSON.parse(line))));
  const deltas = (): unknown =>
    lines().flatMap(({ type, kind, text }) => (type === "delta" ? [[kind, text]] : []));
  await expect.poll(() => lines().some(({ type }) => type === "model.start")).toBe(true);
  model.say("Ada");
  await expect.poll(deltas).toEqual([
    ["reset", ""],
    ["text", "Ada"],
  ]);
  model.end();
  expect(await running).toBe(0);
  const seqs = lines().flatMap(({ seq }) => seq ?? []);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
});

test("a tree is watched with keys, and left with q", async () => {
  await using server = await CliServer.open();
  await server.runtime.start(server.agent("lead"), "publish", { id: "t11" });
  await server.waitForApproval("t11");
  const terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  const watching = main(["watch", "t11"], terminal);
  const shown = (): string => screenOf(terminal.said).join("\n");
  await expect.poll(shown).toContain("lead: waiting");
  terminal.type("a");
  await expect.poll(shown).toContain("approve t11~0:tool:2? y / n");
  terminal.type("y");
  await expect.poll(shown).toContain("the tree has ended · q leaves");
  terminal.type("q");
  expect(await watching).toBe(0);
  expect(terminal.said).toContain("\u001B[?1049lpublished it\n\n✓ completed: answered\n");
});
