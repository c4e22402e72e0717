import { AgentId, ChatMessage, ModelError, type Agent } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { price } from "./doubles.ts";
import { Stage } from "./stage.ts";

/** Plays a call of a model that always fails; its execution dies after the first `deaths` calls. */
async function callsWithDeaths(deaths: number, maxRetries: number): Promise<number> {
  let died = 0;
  let calls = 0;
  await using stage = new Stage({
    deathAt: (point) => (point === "model: after" && ++died <= deaths ? "one" : "none"),
  });
  const caller: Agent = {
    id: AgentId.of("caller"),
    policy: { retry: { maxRetries, baseMs: 1 } },
    model: {
      id: "failing",
      price,
      generate: async () => {
        await stage.happens("model", () => void (calls += 1));
        throw new ModelError({ kind: "overloaded", message: "not now", unbilled: true });
      },
    },
    run: async (ctx) => void (await ctx.llm([ChatMessage.user("hello")])),
  };
  const runtime = stage.runtime({ agents: [caller], store: memoryStore(), maxRestarts: 0 });
  const story = async (): Promise<void> => {
    const { status, error } = await (await runtime.start(caller, "go", { id: "tree" })).result();
    expect([status, error?.code]).toEqual(["failed", "model"]);
  };
  await stage.world.run(story(), { age: 3_600_000 });
  return calls;
}

test.each([0, 1, 2])(
  "8.3 a call lost with its worker %i times counts as that many attempts",
  async (deaths) => {
    expect(await callsWithDeaths(deaths, 2)).toBe(3);
  },
);
