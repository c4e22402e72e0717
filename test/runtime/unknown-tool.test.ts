import { withProtocol } from "../../src/tree/protocol-number.ts";
import { AgentId, createRuntime, tool, type Agent } from "reeve";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { z } from "zod";
import { Json, type Engine, type ExecutionPrimitives } from "#kernel";

/** An engine that loses the first execution of every step, and executes it again. */
function engineLosingSteps(): Engine {
  const engine = local();
  const define: Engine["define"] = (program) =>
    engine.define({
      ...program,
      run: (primitives) => {
        const step: ExecutionPrimitives["step"] = (name, run) =>
          primitives.step(name, async (io) => {
            await run({ ...io, attempt: `${io.attempt}-lost` });
            return run(io);
          });
        return program.run({ ...primitives, step });
      },
    });
  return { ...engine, define };
}

test("a tool call with an unknown outcome is no longer listed as open", async () => {
  const mail = tool({
    name: "mail",
    description: "Sends",
    input: z.object({}),
    risk: "safe",
    execute: async () => "sent",
  });
  const sender: Agent = {
    id: AgentId.of("sender"),
    tools: [mail],
    run: async (ctx) => {
      const results = [await ctx.tool("mail", {}), await ctx.tool("mail", {})];
      await ctx.emit("sent");
      await ctx.waitFor("end");
      return results.map(({ isError }) => isError ?? false);
    },
  };
  const engine = engineLosingSteps();
  await using runtime = createRuntime({ agents: [sender], engine });
  const run = await runtime.start(sender, "go", { id: "t" });
  for await (const event of run.events()) if (event.type === "progress.emitted") break;
  const reply = await engine.call({ type: "tree", key: "-/t" }, "ledger", withProtocol({ run: run.runId }));
  const { account } = Json.as<{ run: { account: { attempts: Json[]; steps: Json[] } } }>(reply).run;
  expect(account).toMatchObject({ attempts: [], steps: [] });
  await run.signal("end");
  expect(await run.result()).toMatchObject({ output: [true, true] });
});
