import { agent, aiSdkTools, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const given = { look_up: { execute: async () => "found" } };

test.for([
  [undefined, { untrusted: true, private: false }],
  [{ sensitivity: "private" }, { untrusted: true, private: true }],
  [
    { sensitivity: "private", trust: "trusted" },
    { untrusted: false, private: true },
  ],
] as const)("results of AI SDK tools with %j are labelled %j", async ([options, labels]) => {
  const writer = agent({
    name: "writer",
    model: scriptedModel([call("look_up", {}), say("done")]),
    tools: aiSdkTools(given, options),
    permissions: "allow-all",
  });
  await using runtime = createRuntime({ agents: [writer] });
  expect(await (await runtime.start(writer, "go")).result()).toMatchObject({ status: "completed", labels });
});

const png = new Uint8Array([1, 2, 3]);

test.for([
  [{ type: "text", value: "short" }, [{ type: "text", text: "short" }], false],
  [{ type: "json", value: { n: 1 } }, [{ type: "text", text: '{"n":1}' }], false],
  [{ type: "error-text", value: "broken" }, [{ type: "text", text: "broken" }], true],
  [{ type: "error-json", value: { n: 2 } }, [{ type: "text", text: '{"n":2}' }], true],
  [{ type: "execution-denied", reason: "no" }, [{ type: "text", text: "no" }], true],
  [
    {
      type: "content",
      value: [
        { type: "text", text: "a map" },
        { type: "file", data: { type: "data", data: png }, mediaType: "image/png", filename: "map.png" },
        { type: "image-data", data: "AQID", mediaType: "image/png" },
        { type: "file-id", fileId: "f1" },
      ],
    },
    [
      { type: "text", text: "a map" },
      { type: "file", mediaType: "image/png", source: { base64: "AQID" }, name: "map.png" },
      { type: "file", mediaType: "image/png", source: { base64: "AQID" } },
      { type: "text", text: '[a part of type "file-id" that is not shown]' },
    ],
    false,
  ],
] as const)("the model sees toModelOutput %j", async ([shown, content, isError]) => {
  const model = scriptedModel([call("look_up", { city: "Bern" }), say("done")]);
  const seen: unknown[] = [];
  const look_up = {
    execute: async () => ({ rows: 3 }),
    toModelOutput: async ({ input, output }: { input: unknown; output: unknown }) => {
      seen.push([input, output]);
      return shown;
    },
  };
  const writer = agent({
    name: "writer",
    model,
    tools: aiSdkTools({ look_up }),
    permissions: "allow-all",
  });
  await using runtime = createRuntime({ agents: [writer] });
  expect(await (await runtime.start(writer, "go")).result()).toMatchObject({ status: "completed" });
  expect(seen).toEqual([[{ city: "Bern" }, { rows: 3 }]]);
  const results = model.requests[1]?.messages.flatMap((message) => message.content) ?? [];
  expect(results.find(({ type }) => type === "tool-result")).toMatchObject({ content, isError });
});
