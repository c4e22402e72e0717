import { spawn } from "node:child_process";
import { once } from "node:events";
import { agent, createRuntime, secret, type Tool } from "reeve";
import { comparePins, mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../free-port.ts";

const program = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

let port = 0;
let child: ReturnType<typeof spawn>;
beforeAll(async () => {
  port = await freePort();
  child = spawn(process.execPath, [program, "streamableHttp"], {
    env: { ...process.env, PORT: `${port}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await once(child.stderr ?? child, "data");
});
afterAll(() => void child.kill());

describe.for(["stdio", "http"] as const)("the everything server over %s", (kind) => {
  const address = (): McpOptions =>
    kind === "stdio"
      ? { name: "all", command: process.execPath, args: [program, "stdio"] }
      : { name: "all", url: `http://127.0.0.1:${port}/mcp`, allowHosts: ["127.0.0.1"] };

  test("tools are called, and text, images and structured content are shown", async () => {
    const pins = await pinTools(address());
    expect(comparePins(null, pins).map(({ tool }) => tool)).toContain("echo");
    expect(comparePins(pins, await pinTools(address()))).toEqual([]);
    await using server = mcp({ ...address(), pins, resources: true, prompts: true });
    const model = scriptedModel([
      call("all_echo", { message: "hi" }),
      call("all_get-tiny-image", {}),
      call("all_get-structured-content", { location: "New York" }),
      call("all_get-sum", { a: "no number" }),
      call("all_list_resources", {}),
      call("all_list_prompts", {}),
      call("all_get_prompt", { name: "simple-prompt" }),
      say("done"),
    ]);
    const writer = agent({ name: "writer", model, extensions: [server], permissions: "allow-all" });
    await using runtime = createRuntime({ agents: [writer] });
    expect(await (await runtime.start(writer, "go")).result()).toMatchObject({ status: "completed" });
    const results = (model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? []).filter(
      (block) => block.type === "tool-result",
    );
    const [echo, image, structured, sum, resources, prompts, prompt] = results;
    expect(echo).toMatchObject({ isError: false, content: [{ type: "text", text: "Echo: hi" }] });
    expect(image?.content).toContainEqual(expect.objectContaining({ type: "file", mediaType: "image/png" }));
    expect(JSON.stringify(structured?.content)).toContain("temperature");
    expect(sum).toMatchObject({ isError: true });
    expect(JSON.stringify(resources?.content)).toContain("uri");
    expect(JSON.stringify(prompts?.content)).toContain("simple-prompt");
    expect(prompt).toMatchObject({ isError: false, content: [{ type: "text" }] });
  });

  test("the server's claim that a tool is harmless is ignored", async () => {
    const pins = await pinTools(address());
    await using server = mcp({ ...address(), pins });
    const risks = new Set(server.tools?.map(({ risk }: Tool) => risk));
    expect(risks).toEqual(new Set(["high"]));
    const model = scriptedModel([call("all_get-env", {}), say("done")]);
    const writer = agent({ name: "writer", model, extensions: [server] });
    await using runtime = createRuntime({ agents: [writer] });
    await (await runtime.start(writer, "go")).result();
    const words = JSON.stringify(model.requests.at(-1)?.messages);
    expect(words).toContain("its risk is high");
  });
});

test("a server on this machine is not reached over HTTP unless its host is allowed", async () => {
  const url = `http://127.0.0.1:${port}/mcp`;
  await expect(pinTools({ name: "all", url })).rejects.toThrow("MCP server all could not be connected");
});

test("a stdio server is given its own environment, and no secret of this process", async () => {
  process.env["PRIVATE_KEY_OF_HOST"] = "do-not-tell";
  const address = {
    name: "all",
    command: process.execPath,
    args: [program, "stdio"],
    env: { GIVEN: secret("given-to-it") },
  };
  await using server = mcp({
    ...address,
    pins: await pinTools(address),
    tools: { "get-env": { risk: "safe" } },
  });
  const model = scriptedModel([call("all_get-env", {}), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server] });
  await using runtime = createRuntime({ agents: [writer] });
  await (await runtime.start(writer, "go")).result();
  const words = JSON.stringify(model.requests.at(-1)?.messages);
  expect(words).toContain("GIVEN");
  expect(words).not.toContain("do-not-tell");
  expect(JSON.stringify(address)).not.toContain("given-to-it");
});
