import assert from "node:assert/strict";
import { Json, secret } from "#kernel";
import { memoryStore } from "#stores/memory";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, onRuntime } from "./harness.ts";
import { historyOf } from "./history.ts";

const value = "hunter2";
/** A secret behind a cast or an `any`, so the compiler does not see it. */
const hideFromCompiler = (): Json => Json.of({ user: "ada", deep: [{ password: secret(value) }] });
const shown = { user: "ada", deep: [{ password: "[secret]" }] };

const careless = agentOf(
  "careless",
  async (ctx) => {
    const step = await ctx.step("log-in", hideFromCompiler);
    const { value: fromTool = null } = await ctx.tool("log-in", hideFromCompiler());
    await ctx.emit(hideFromCompiler());
    const failed = await ctx
      .step("fail", () => {
        throw new TypeError(`cannot log in with ${String(secret(value))}`);
      })
      .catch((error: unknown) => String(error));
    return [step, fromTool, failed, hideFromCompiler()];
  },
  { tools: [effect("log-in", async (input) => [input, hideFromCompiler()])] },
);

/** Section 9.3: what never shows. */
export const secretCases: readonly EngineCase[] = [
  {
    name: "9.3 a secret in a step result, tool call, event, error or output is shown as [secret]",
    run: (harness) =>
      onRuntime(harness, { agents: [careless], store: memoryStore() }, async (runtime) => {
        const run = await runtime.start(careless, "go");
        const { output } = await run.result();
        assert.ok(Array.isArray(output));
        const [step, fromTool, failed, told] = output;
        assert.deepEqual([step, fromTool, told], [shown, [shown, shown], shown]);
        assert.ok(String(failed).includes("cannot log in with [secret]"));
        const seen = [await historyOf(run), await runtime.audit.read()];
        assert.ok(!JSON.stringify(seen).includes(value));
        assert.ok(JSON.stringify(seen).includes("[secret]"));
      }),
  },
];
