import { AgentId, createRuntime, type Agent } from "reeve";
import { expect, test } from "vitest";

test("an execution that never continues afresh is warned of at 10,000 steps and stopped at 50,000", async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", listen);
  const endless: Agent = {
    id: AgentId.of("endless"),
    async run(ctx) {
      for (;;) await ctx.step("again", () => null);
    },
  };
  await using runtime = createRuntime({ agents: [endless] });
  const run = await runtime.start(endless, "go");
  expect(await run.result()).toMatchObject({
    status: "failed",
    error: { code: "too-many-steps", limit: 50_000 },
  });
  process.off("warning", listen);
  expect(warnings).toEqual([expect.stringContaining("has made 10000 steps")]);
});
