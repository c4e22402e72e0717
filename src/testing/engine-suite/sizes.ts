import assert from "node:assert/strict";
import { encodeError, TooLargeError, type Json } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";

const megabytes = (count: number): string => "x".repeat(count * 1_000_000);

/** The code of the error that a call ends with; null if it succeeds. */
const codeOf = (call: Promise<unknown>): Promise<string | null> =>
  call.then(
    () => null,
    (error: unknown) => encodeError(error).code,
  );

/** A value that is too large fails the call that brings it: no run and no tree is stuck with it. */
export const sizeCases: readonly EngineCase[] = [
  {
    name: "three emits of 12 MB fail their caller and affect nothing else",
    async run(harness) {
      const loud = agentOf("loud", async (ctx) => {
        const codes: (string | null)[] = [];
        for (let number = 0; number < 3; number++) codes.push(await codeOf(ctx.emit(megabytes(12))));
        await ctx.emit("small");
        return codes;
      });
      await onRuntime(harness, { agents: [loud] }, async (runtime) => {
        const run = await runtime.start(loud, "go");
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["completed", ["too-large", "too-large", "too-large"]]);
        const data: Json[] = [];
        for await (const event of run.events()) if (event.type === "progress.emitted") data.push(event.data);
        assert.deepEqual(data, ["small"]);
      });
    },
  },
  {
    name: "a message, a task, a signal and metadata that are too large are refused to their sender",
    async run(harness) {
      const child = agentOf("child", async (ctx) => ctx.waitFor("go"));
      const parent = agentOf("parent", async (ctx) => {
        const handle = await ctx.spawn(child, null);
        const codes = [
          await codeOf(ctx.send(handle, megabytes(10))),
          await codeOf(ctx.spawn(child, megabytes(10))),
        ];
        await ctx.waitFor("go");
        return codes;
      });
      await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
        const run = await runtime.start(parent, "go");
        await assert.rejects(run.signal("go", megabytes(10)), TooLargeError);
        await assert.rejects(run.send(megabytes(10)), TooLargeError);
        await assert.rejects(
          runtime.start(parent, "go", { metadata: { note: megabytes(1) } }),
          TooLargeError,
        );
        await run.signal("go");
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["completed", ["too-large", "too-large"]]);
      });
    },
  },
  {
    name: "a run with too large an output fails, and its parent sees the failure",
    async run(harness) {
      const child = agentOf("child", async () => megabytes(12));
      const parent = agentOf("parent", async (ctx) => {
        const { status, error } = await ctx.join(await ctx.spawn(child, "go"));
        return [status, error?.code ?? null];
      });
      await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
        const { output } = await (await runtime.start(parent, "go")).result();
        assert.deepEqual(output, ["failed", "too-large"]);
      });
    },
  },
];
