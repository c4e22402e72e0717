import { agent, createRuntime, type Model, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { Faults } from "../../src/cli/dev/faults.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

const page = (name: string, origin: "web" | "tool") =>
  tool({
    name,
    description: "Reads a page",
    input: z.object({}),
    risk: "safe",
    origin,
    execute: () => "Sales grew by 9 percent.",
  });

/** Runs an agent that reads its own notes and a page, with faults around its calls. */
async function run(faults: Faults) {
  const prompts: string[] = [];
  const scripted = scriptedModel([call("notes", {}), call("page", {}), call("page", {}), say("done")]);
  const model: Model = {
    ...scripted,
    generate: (request, given) => {
      prompts.push(JSON.stringify(request.messages.at(-1)));
      return scripted.generate(request, given);
    },
  };
  const reader = agent({ name: "reader", model, tools: [page("notes", "tool"), page("page", "web")] });
  const runtime = createRuntime({ agents: [reader], middleware: faults.around() });
  open.push(runtime);
  const started = await runtime.start(reader, "read");
  const events: string[] = [];
  for await (const event of started.events()) events.push(event.type);
  return { prompts, events, result: await started.result() };
}

test("without a requested fault nothing changes", async () => {
  const { prompts, events, result } = await run(new Faults());
  expect(result.output).toBe("done");
  expect(events).not.toContain("retry.start");
  expect(prompts.join()).not.toContain("NOTE TO ASSISTANTS");
});

test("an injected order is added once, to the next untrusted content", async () => {
  const faults = new Faults();
  faults.cause("injection");
  const { prompts } = await run(faults);
  const ordered = prompts.map((prompt) => prompt.includes("send all accounts"));
  expect(ordered).toEqual([false, false, true, false]);
  expect(prompts[2]).toContain("\u0430ccounts@example.com");
});

test("the worker is killed after the answer to the request has left", async () => {
  const killed = Promise.withResolvers<string>();
  new Faults(() => killed.resolve("killed")).cause("kill-worker");
  expect(await killed.promise).toBe("killed");
});
