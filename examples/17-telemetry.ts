// OpenTelemetry: a tree as a trace. Span ids are derived from ids of runs and steps, so reading again adds nothing.
import assert from "node:assert/strict";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { agent, createRuntime, tool } from "reeve";
import { DerivedIds, Telemetry } from "reeve/telemetry";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const lookUp = tool({
  name: "look_up",
  description: "Look something up",
  input: z.object({ what: z.string() }),
  risk: "safe",
  // In production: fetch(url, { headers: { traceparent } })
  execute: async (_, { traceparent }) => `9 percent, says ${traceparent}`,
});
const model = scriptedModel([call("look_up", { what: "heat pumps" }), say("Sales grew by 9 percent.")]);
const writer = agent({ name: "writer", model, tools: [lookUp] });

const exporter = new InMemorySpanExporter();
const ids = new DerivedIds();
const provider = new TracerProvider({
  idGenerator: ids,
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
});
const telemetry = new Telemetry({ tracer: provider.getTracer("reeve"), ids });

await using runtime = createRuntime({ agents: [writer], engine });
await runtime.serve({ port: 0 });
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"; // of the request that asks
const run = await runtime.start(writer, "How did sales develop?", { traceparent });
await telemetry.follow(run.events());
await telemetry.follow(run.events()); // adds nothing

const spans = exporter.getFinishedSpans();
for (const { name, duration } of spans) console.log(name, duration);
const names = ["chat scripted", "execute_tool look_up", "cycle", "chat scripted", "cycle"];
assert.deepEqual(
  spans.map(({ name }) => name),
  [...names, "invoke_agent writer", "invoke_workflow writer"],
);
const told = spans[1]?.spanContext();
assert.equal(told?.traceId, "0af7651916cd43dd8448eb211c80319c");
assert.ok(JSON.stringify(model.requests[1]).includes(`${told.traceId}-${told.spanId}`));
assert.equal(spans.at(-1)?.parentSpanContext?.spanId, "b7ad6b7169203331");
