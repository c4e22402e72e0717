import { readFileSync } from "node:fs";
import {
  agent,
  ChatMessage,
  createRuntime,
  extension,
  type Agent,
  type PromptSection,
  type Runtime,
} from "reeve";
import { sectionPlaces, type SectionCall, type SectionPosition } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { manualClock, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const section = (place: SectionPosition, text: string, rest: Partial<PromptSection> = {}): PromptSection => ({
  name: place,
  place,
  read: () => text,
  ...rest,
});

const systems = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) => (first?.role === "system" ? ChatMessage.text(first) : ""));

/** Starts a tree and waits for its end. */
async function run(
  runtime: Runtime,
  worker: Agent<string>,
  options: { readonly user?: string; readonly tenant?: string; readonly channel?: string } = {},
): Promise<void> {
  expect(await (await runtime.start(worker, "go", options)).result()).toMatchObject({ status: "completed" });
}

test("a prompt has its parts in the order of the places, whatever the order in which they were given", async () => {
  const model = scriptedModel([say("done")]);
  const given = ["skills", "memory", "docs", "user", "append"] as const;
  const sections = given.map((place) => section(place, `Text of ${place}.`));
  const worker = agent({
    name: "worker",
    model,
    instructions: "You prepare reports.",
    extensions: [extension({ name: "rules", sections: [section("append", "Rules of the house.")] })],
    sections: [...sections, section("footer", "Profile directory: /profiles/ada")],
  });
  await using runtime = createRuntime({
    agents: [worker],
    clock: manualClock(Date.UTC(2026, 10, 16, 9)),
    workingDirectory: "/srv/reports",
  });
  const talk = await runtime.sessions.create(worker, { id: "s1", channel: "slack" });
  await talk.invoke("go");
  expect(`${systems(model)[0]}\n`).toBe(readFileSync("test/golden/system-prompt.txt", "utf8"));
});

test("an agent without sections has its instructions only, as before", async () => {
  const tools = extension({ name: "tools" });
  const plain = scriptedModel([say("done")]);
  const none = scriptedModel([say("done")]);
  const workers = [
    agent({ name: "plain", model: plain, instructions: "Be brief.", extensions: [tools] }),
    agent({ name: "none", model: none }),
  ];
  await using runtime = createRuntime({ agents: workers, platforms: { slack: "Slack." } });
  for (const worker of workers) await run(runtime, worker, { channel: "slack" });
  expect(systems(plain)).toEqual(["Be brief."]);
  expect(none.requests[0]?.messages).toHaveLength(1);
  expect(workers.map(({ policy }) => policy?.sections)).toEqual([undefined, undefined]);
});

test("a section in the identity position replaces only the instructions", async () => {
  const model = scriptedModel([say('{"year": 1987}')]);
  const output = z.object({ year: z.number() });
  const called: string[] = [];
  const worker = agent({
    name: "worker",
    model,
    output,
    instructions: () => String(called.push("instructions")),
    sections: [section("identity", "You are Ada."), section("docs", "Docs.")],
  });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "When?");
  expect(systems(model)[0]).toMatch(/^You are Ada\.\n\n.*JSON Schema.*\n\nDocs\.\n\nCurrent date: /s);
  expect(called).toEqual([]);
});

test("an agent with sections and without instructions has the default identity", async () => {
  const model = scriptedModel([say("done")]);
  const worker = agent({ name: "worker", model, sections: [] });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  expect(systems(model)[0]).toMatch(
    /^You are a helpful assistant\.\n\nCurrent date: \d{4}-\d\d-\d\d\nSession/,
  );
});

test("changed memory or another day leaves the earlier bytes of the prompt unchanged", async () => {
  const clock = manualClock(Date.UTC(2026, 10, 16, 23, 59));
  let version = 1;
  const memory = section("memory", "", { version: () => version, read: () => `Memory ${version}.` });
  const model = scriptedModel([say("done")]);
  const sections = [section("docs", "Docs."), memory, section("user", "Ada.")];
  const worker = agent({ name: "worker", model, instructions: "Identity.", sections });
  await using runtime = createRuntime({ agents: [worker], clock });
  const talk = await runtime.sessions.create(worker);
  await talk.invoke("one");
  version += 1;
  await talk.invoke("two");
  await clock.advance(120_000);
  await talk.invoke("three");
  const [first = "", second = "", third = ""] = systems(model);
  expect(sharedStart(first, second)).toBe("Identity.\n\nDocs.\n\nMemory ");
  expect(sharedStart(second, third)).toMatch(/^Identity\..*Memory 2\.\n\nAda\.\n\nCurrent date: 2026-11-1$/s);
  expect(third).toContain("2026-11-17");
});

function sharedStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

test("a cached section is read once per process until it is dropped or has another version, and a per-turn section once per turn", async () => {
  const reads: string[] = [];
  let version = "a";
  const read = (name: string) => (): string => (reads.push(name), `${name}.`);
  const model = scriptedModel([say("done")]);
  const worker = agent({
    name: "worker",
    model,
    sections: [
      { name: "kept", place: "docs", read: read("kept") },
      { name: "versioned", place: "memory", read: read("versioned"), version: () => version },
      { name: "turn", place: "user", read: read("turn"), keep: "turn" },
      { name: "end", place: "footer", read: read("end") },
      { name: "empty", place: "docs", read: () => (reads.push("empty"), null) },
    ],
  });
  const other = agent({ name: "other", model, team: [worker], sections: [] });
  await using runtime = createRuntime({ agents: [worker, other] });
  const talk = await runtime.sessions.create(worker);
  const readIn = async (): Promise<readonly string[]> => {
    await talk.invoke("go");
    return reads.splice(0).toSorted();
  };
  expect(await readIn()).toEqual(["empty", "end", "kept", "turn", "versioned"]);
  expect(await readIn()).toEqual(["end", "turn"]);
  version = "b";
  expect(await readIn()).toEqual(["end", "turn", "versioned"]);
  await talk.reload();
  expect(await readIn()).toEqual(["empty", "end", "kept", "turn", "versioned"]);
  await runtime.reload(other);
  expect(await readIn()).toHaveLength(5);
  await runtime.reload();
  expect(await readIn()).toHaveLength(5);
});

test("a section that is dropped while it is read is not cached", async () => {
  const reading = Promise.withResolvers<void>();
  const texts = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const calls: unknown[] = [];
  const docs: PromptSection = {
    name: "docs",
    place: "docs",
    read: () => (reading.resolve(), texts[calls.push("read") - 1]?.promise ?? null),
  };
  const model = scriptedModel([say("done")]);
  const worker = agent({ name: "worker", model, sections: [docs] });
  await using runtime = createRuntime({ agents: [worker] });
  const first = run(runtime, worker);
  await reading.promise;
  await runtime.reload();
  texts[0]?.resolve("Old.");
  texts[1]?.resolve("New.");
  await first;
  await run(runtime, worker);
  expect(systems(model).map((text) => text.split("\n\n")[1])).toEqual(["Old.", "New."]);
});

const tell = ({ tenantId, userId, channel, agentId }: Omit<SectionCall, "signal" | "report">): string =>
  `<${tenantId}/${agentId}/${channel}/${userId}>`;

test("users, tenants, channels and agents never see each other's kept text, however their turns interleave", async () => {
  const waiting: (() => void)[] = [];
  const owners = [
    { user: "ada" },
    { user: "bob" },
    { user: "ada", tenant: "acme" },
    { user: "ada", tenant: "umbrella" },
    { user: "bob", tenant: "acme" },
    { tenant: "ada" },
    { channel: "ada" },
    {},
  ];
  const runs = 2 * owners.length;
  // The first turns of all wait for each other inside the read.
  const read = async (call: SectionCall): Promise<string> => {
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === runs) for (const open of waiting) open();
    });
    expect(call.sessionId).toBeNull();
    return tell(call);
  };
  const notes: PromptSection = { name: "notes", place: "memory", read };
  const model = scriptedModel([say("done")]);
  const workers = ["one", "two"].map((name) => agent({ name, model, instructions: name, sections: [notes] }));
  await using runtime = createRuntime({ agents: workers });
  const all = workers.flatMap((worker) => owners.map((owner) => ({ worker, owner })));
  const texts = async (): Promise<readonly string[]> => {
    const from = model.requests.length;
    await Promise.all(all.map(({ worker, owner }) => run(runtime, worker, owner)));
    return systems(model)
      .slice(from)
      .map((text) => text.split("\n\n").slice(0, 2).join(" "))
      .toSorted();
  };
  const expected = all
    .map(({ worker: { name }, owner: { user = null, tenant = null, channel = null } }) => {
      return `${name} <${tenant}/${name}/${channel}/${user}>`;
    })
    .toSorted();
  expect(await texts()).toEqual(expected);
  expect(await texts()).toEqual(expected);
  expect(waiting).toHaveLength(runs);
});

test("a channel hint of the program is shown instead of the built-in one", async () => {
  const model = scriptedModel([say("done")]);
  const worker = agent({ name: "worker", model, sections: [] });
  await using runtime = createRuntime({
    agents: [worker],
    workingDirectory: null,
    platforms: { sms: "Write one sentence.", slack: "Write to Slack." },
  });
  for (const channel of ["telegram", "slack", "sms", "constructor"]) await run(runtime, worker, { channel });
  const [telegram, slack, sms, other] = systems(model).map((text) => text.split("\n\n")[1]);
  expect(telegram).toMatch(/^You answer on Telegram\./);
  expect([slack, sms]).toEqual(["Write to Slack.", "Write one sentence."]);
  expect(other).toMatch(/^Current date: \d{4}-\d\d-\d\d\nSession ID: /);
});

test("a child of the same agent has the same system message, and the stored prompt is the one that was sent", async () => {
  const model = scriptedModel([say("done")]);
  const reads: string[] = [];
  const docs = section("docs", "", { read: () => (reads.push("read"), "Docs.") });
  const worker = agent({ name: "worker", model, instructions: "Identity.", sections: [docs] });
  const lead: Agent = {
    ...agent({ name: "lead", model, team: [worker] }),
    run: async (ctx) => {
      for (const task of ["one", "two"]) await ctx.join(await ctx.spawn(worker, task));
      return "done";
    },
  };
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const started = await runtime.start(lead, "go", { user: "ada" });
  await started.result();
  const [one, two] = systems(model);
  expect(one).toMatch(/^Identity\.\n\nDocs\.\n\nCurrent date/);
  expect(two).toBe(one);
  expect(reads).toHaveLength(1);
  const child = `${started.treeId}~1`;
  const { items } = await runtime.steps(child);
  const prompt = await runtime.prompt(items[0]?.stepId ?? "");
  expect(prompt).toMatchObject({ isEqual: true });
  expect(JSON.stringify(prompt)).toContain(JSON.stringify(one).slice(1, -1));
});

test("a section with an unknown position is refused when the agent is defined", () => {
  expect(sectionPlaces.join(" ")).toBe("identity docs append memory user skills platform footer");
  const sections: readonly PromptSection[] = [
    // @ts-expect-error: no such place.
    { name: "x", place: "end", read: () => "x" },
  ];
  expect(() => agent({ name: "worker", model: scriptedModel([say("done")]), sections })).toThrow(
    /section x has the place "end"/,
  );
});
