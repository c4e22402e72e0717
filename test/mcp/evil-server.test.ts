import { existsSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime, type Extension, type RunDelta } from "reeve";
import { mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const address = (mode: string): McpOptions => ({
  name: "evil",
  command: process.execPath,
  args: ["test/mcp/fixtures/evil-server.ts", mode],
});

/** The text that the model is shown for a call that may have happened. */
const unknownText = (reason: RegExp): RegExp =>
  new RegExp(
    `^error: the outcome of evil_look is unknown: it may or may not have happened; .*${reason.source}`,
    "i",
  );
const isUnknown = (reason: RegExp): unknown => expect.stringMatching(unknownText(reason));

const honestPins = pinTools(address("honest"));

/** The server with the tools that an honest one of its kind lists. */
const optionsFor = async (mode: string, options: Partial<McpOptions> = {}): Promise<McpOptions> => ({
  ...address(mode),
  pins: await honestPins,
  ...options,
});

interface Outcome {
  /** The text of each call, in order; an error begins with "error: ". */
  readonly texts: readonly string[];
  /** The description that the model was shown. */
  readonly description: string | undefined;
  readonly status: string;
  readonly labels: unknown;
}

async function callTools(extension: Extension, calls = 1): Promise<Outcome> {
  const further = Array.from({ length: calls - 1 }, () => call("evil_look", { q: "more" }));
  const model = scriptedModel([call("evil_look", { q: "first" }), ...further, say("done")]);
  const writer = agent({ name: "writer", model, extensions: [extension], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [writer] });
  const { status, labels } = await (await runtime.start(writer, "go")).result();
  const results = model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? [];
  const texts = results.flatMap((block) => {
    if (block.type !== "tool-result") return [];
    const words = block.content.map((part) => (part.type === "text" ? part.text : part.type)).join("");
    return [block.isError ? `error: ${words}` : words];
  });
  const description = model.requests[0]?.tools?.find(({ name }) => name === "evil_look")?.description;
  return { texts, description, status, labels };
}

test("tools of an honest server have high risk, and their results are untrusted", async () => {
  await using server = mcp(await optionsFor("honest"));
  expect(server.tools?.[0]).toMatchObject({ name: "evil_look", risk: "high", origin: "web" });
  expect(await callTools(server)).toMatchObject({
    texts: ["found 1, listed 1"],
    status: "completed",
    labels: { untrusted: true, private: false },
  });
});

test("the user's settings decide risk and trust, and the server's hints decide nothing", async () => {
  const options = await optionsFor("honest", { tools: { look: { risk: "safe" } }, trust: "trusted" });
  await using server = mcp(options);
  expect(server.tools?.[0]).toMatchObject({ risk: "safe", trust: "trusted" });
  expect(await callTools(server)).toMatchObject({ status: "completed", labels: undefined });
});

test("a tool whose description changes later is disabled, and the model never sees the change", async () => {
  const problems: string[] = [];
  await using server = mcp(await optionsFor("changes", { onProblem: (problem) => problems.push(problem) }));
  const { texts, description } = await callTools(server, 4);
  expect(texts.slice(0, 2)).toEqual(["found 1, listed 1", "found 2, listed 1"]);
  const off = expect.stringMatching(
    /^error: tool look of MCP server evil has changed since it was approved.*reeve mcp pin evil/,
  );
  expect(texts.slice(2)).toEqual([off, off]);
  expect(description).toBe("Looks.");
  expect(problems).toHaveLength(1);
});

test("a tool that is added later is not a tool of the agent", async () => {
  await using server = mcp(await optionsFor("adds"));
  const { texts } = await callTools(server, 2);
  expect(texts).toEqual(["found 1, listed 1", "found 2, listed 2"]);
  expect(server.tools?.map(({ name }) => name)).toEqual(["evil_look"]);
});

test("a tool listed twice is disabled", async () => {
  expect(await pinTools(address("shadows"))).toEqual({ tools: [] });
  await using server = mcp(await optionsFor("shadows"));
  expect((await callTools(server)).texts).toEqual([
    expect.stringContaining("error: tool look of MCP server evil is listed twice"),
  ]);
});

test("two tools whose names become equal are both disabled", async () => {
  await using server = mcp({ ...address("collides"), pins: await pinTools(address("collides")) });
  expect(server.tools).toEqual([]);
  expect(server.problems).toEqual([
    "tool look.up of MCP server evil is off: another tool has the name evil_look_up",
    "tool look/up of MCP server evil is off: another tool has the name evil_look_up",
  ]);
});

test("an agent's own tool is not replaced by one of a server", async () => {
  await using server = mcp(await optionsFor("honest"));
  await using other = mcp(await optionsFor("honest"));
  const writer = agent({ name: "writer", model: scriptedModel([say("done")]), extensions: [server, other] });
  expect(writer.tools?.filter(({ name }) => name === "evil_look")).toEqual(server.tools);
});

test("a long description is cut", async () => {
  await using server = mcp({ ...address("verbose"), pins: await pinTools(address("verbose")) });
  const { description, texts } = await callTools(server);
  expect(description).toHaveLength(2_001);
  expect(texts).toEqual(["found 1, listed 1"]);
});

test.for(["huge", "endless"])("an answer that is %s is stopped while it arrives", async (mode) => {
  const count = join(await mkdtemp(join(tmpdir(), "reeve-evil-")), "bytes");
  await using server = mcp(
    await optionsFor(mode, { args: ["test/mcp/fixtures/evil-server.ts", mode, count], maxBytes: 1_000_000 }),
  );
  const { texts, status } = await callTools(server);
  expect(texts).toEqual([isUnknown(/evil: its answer was too large, and it was disconnected/)]);
  expect(status).toBe("completed");
  // At most the limit, one read of the client, and the content of the pipe.
  expect(Number(await readFile(count, "utf8"))).toBeLessThan(3_000_000);
});

test("a call that is not answered in time has an unknown outcome", async () => {
  const count = join(await mkdtemp(join(tmpdir(), "reeve-evil-")), "calls");
  await using server = mcp(
    await optionsFor("silent", { args: ["test/mcp/fixtures/evil-server.ts", "silent", count], timeoutS: 4 }),
  );
  const { texts, status } = await callTools(server);
  // On a machine on which connecting takes longer, the call is never sent, and has failed.
  const told = existsSync(count) ? unknownText(/timed out/) : /no result after|not called/;
  expect(texts).toEqual([expect.stringMatching(told)]);
  expect(status).toBe("completed");
});

test("a flood of notifications ends the connection", async () => {
  await using server = mcp(await optionsFor("flood"));
  expect((await callTools(server)).texts).toEqual([
    isUnknown(/evil: it sent too many messages, and was disconnected/),
  ]);
});

test("however often the list changes, it is read once per tool call", async () => {
  await using server = mcp(await optionsFor("list-flood"));
  expect((await callTools(server, 2)).texts).toEqual(["found 1, listed 1", "found 2, listed 2"]);
});

test("an elicitation is refused by default, and no person is asked", async () => {
  await using server = mcp(await optionsFor("elicits"));
  const { texts } = await callTools(server);
  expect(texts).toEqual([expect.stringContaining('"error"')]);
  expect(texts.join()).not.toContain("accept");
});

test("an elicitation during a call is declined if only durable ones are passed to a person", async () => {
  await using server = mcp(await optionsFor("elicits", { elicitation: "ask" }));
  expect((await callTools(server)).texts).toEqual([expect.stringContaining('"action":"decline"')]);
});

test("code may answer an elicitation during a call", async () => {
  const asked: unknown[] = [];
  const answerInCall: McpOptions["answerInCall"] = (question) => {
    asked.push(question.message);
    return { password: "none", nested: { not: "sent" } };
  };
  await using server = mcp(await optionsFor("elicits", { answerInCall }));
  const { texts } = await callTools(server);
  expect(texts).toEqual([expect.stringContaining('"content":{"password":"none"}')]);
  expect(asked).toEqual(["Your password, please"]);
});

test("a request for a model call is refused by default", async () => {
  await using server = mcp(await optionsFor("samples"));
  const { texts } = await callTools(server);
  expect(texts).toEqual([expect.stringContaining('"error"')]);
});

test("a model call for a server is charged to the run, and is not a turn with tools", async () => {
  await using server = mcp(await optionsFor("samples", { sampling: "allow", maxSamplingTokens: 20 }));
  const model = scriptedModel([call("evil_look", {}), say("yes"), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [writer] });
  const { status, usage } = await (await runtime.start(writer, "go")).result();
  expect(status).toBe("completed");
  expect(model.requests[1]).toMatchObject({ maxOutputTokens: 20, tools: [] });
  const lone = scriptedModel([say("done")]);
  const other = agent({ name: "other", model: lone });
  await using plain = createRuntime({ agents: [other] });
  const single = await (await plain.start(other, "go")).result();
  expect(usage.output).toBe(3 * single.usage.output);
});

test("a long error of a server is shortened, and a server that dies is reconnected", async () => {
  await using failing = mcp(await optionsFor("fails"));
  const { texts } = await callTools(failing);
  expect(texts[0]?.length).toBeLessThan(2_100);
  await using dying = mcp(await optionsFor("dies"));
  expect((await callTools(dying, 2)).texts).toEqual([isUnknown(/closed/), isUnknown(/closed/)]);
});

test("progress of a server reaches readers of the run", async () => {
  await using server = mcp(await optionsFor("progress"));
  const model = scriptedModel([call("evil_look", {}), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [writer] });
  const run = await runtime.start(writer, "go");
  const told: RunDelta[] = [];
  for await (const delta of run.deltas()) if (delta.kind === "tool-update") told.push(delta);
  expect(told).toMatchObject([
    { update: { tool: "evil_look", progress: { progress: 1, total: 2, message: "half" } } },
  ]);
});

test("a cancel reaches a call that hangs", async () => {
  await using server = mcp(await optionsFor("silent"));
  const model = scriptedModel([call("evil_look", {}), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [writer] });
  const run = await runtime.start(writer, "go");
  for await (const { type } of run.events()) if (type === "tool.start") break;
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: "cancelled" });
});

test("an extension without approved tools is refused", () => {
  expect(() => mcp(address("honest"))).toThrow(
    "no tools of MCP server evil were approved in mcp-pins.json: run reeve mcp pin evil",
  );
});

test("a pin that was edited is refused", async () => {
  const [pin] = (await honestPins).tools;
  const pins = { tools: pin ? [{ ...pin, description: "Looks. And more." }] : [] };
  expect(() => mcp({ ...address("honest"), pins })).toThrow(
    "the pin of tool look of MCP server evil was edited",
  );
});

test.for([
  [{ name: "a_b", command: "node" }, "must have 1 to 32 letters"],
  [{ name: "a" }, "needs either url or command"],
  [{ name: "a", command: "npx", args: ["-y", "server"] }, "npx downloads the program it runs"],
  [{ name: "a", command: "/usr/bin/uvx" }, "uvx downloads the program it runs"],
  [{ name: "a", url: "nowhere" }, "url must be a URL"],
  [{ name: "a", command: "node", maxBytes: 0 }, "maxBytes"],
  [{ name: "a", command: "node", pins: { tools: [] }, tools: { lok: {} } }, "has no approved tool lok"],
] as const)("options %j are refused", ([options, message]) => {
  expect(() => mcp(options)).toThrow(message);
});
