import { agent, type Agent, AgentId, Json } from "reeve";
import { fail, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { closing } from "./closing.ts";
import { TestServer } from "./test-server.ts";
import { Subscription } from "./sse.ts";

const broken: Agent = {
  id: AgentId.of("broken"),
  run: async () => {
    throw new TypeError("of ada");
  },
};

test("the error of a program's code is shown to keys with the scope content, and to no others", async () => {
  const site = closing(await TestServer.open({ agents: [broken] }));
  await site.post("/runs", { agent: "broken", input: "go", id: "t" });
  const endSeenBy = async (key: string): Promise<Record<string, unknown>> => {
    const stream = await Subscription.to(`${site.url}/runs/t/events`, { key });
    const messages = await stream.readUntil((come) => come.some(({ event }) => event === "end"));
    const end = messages.map(({ data }) => JSON.parse(data)).find(({ type }) => type === "run.end");
    return end;
  };
  const { acme } = site.keys;
  expect(await endSeenBy(acme.content)).toMatchObject({
    status: "failed",
    diagnostic: { source: "agent broken", name: "TypeError", message: "of ada" },
  });
  for (const key of [acme.read, acme.admin]) {
    const end = await endSeenBy(key);
    expect(end).toMatchObject({ status: "failed", error: { code: "foreign" } });
    expect(end).not.toHaveProperty("diagnostic");
  }
});

test("the text of an error is withheld from keys without the scope content wherever events are shown", async () => {
  const model = scriptedModel([fail(new Error("400: the prompt was of-ada"))]);
  const caller = agent({ name: "caller", model });
  const site = closing(await TestServer.open({ agents: [caller] }));
  await site.post("/runs", { agent: "caller", input: "go", id: "t" });
  await site.runtime.run("t", { tenant: "acme" }).result();
  const textsFor = async (key: string): Promise<readonly string[]> => {
    const stream = await Subscription.to(`${site.url}/live?trees=t:0`, { key });
    const seen = await stream.readUntil((come) => come.some(({ event }) => event === "end"));
    await stream.drop();
    const events = await Subscription.to(`${site.url}/runs/t/events`, { key });
    const replies = await Promise.all(
      ["/log", "/view", "/result"].map((path) => site.get(`/runs/t${path}`, { key })),
    );
    return [
      ...replies.map(({ text }) => text),
      JSON.stringify(seen),
      JSON.stringify(await events.readToEnd()),
    ];
  };
  const { acme } = site.keys;
  for (const key of [acme.content, acme.admin])
    for (const text of await textsFor(key)) expect(text).toContain("of-ada");
  for (const text of await textsFor(acme.read)) {
    expect(text).toContain("failed");
    expect(text).not.toContain("of-ada");
  }
});

/** The hash of the same question of a tree on a server of its own. */
const hashOnNewServer = async (): Promise<unknown> => {
  const site = closing(await TestServer.open());
  await site.post("/runs", { agent: "writer", input: "send", id: "t" });
  const find = async (): Promise<unknown> =>
    Json.as<{ readonly items: readonly { readonly hash: string }[] }>(
      (await site.get("/approvals", { key: site.keys.acme.read })).json,
    ).items[0]?.hash;
  await expect.poll(find).toBeTypeOf("string");
  return find();
};

test("the hash of an approval depends on a secret of its tree, so no reader can guess arguments by it", async () => {
  // Tenant, tree, run, tool and arguments are equal.
  expect(await hashOnNewServer()).not.toBe(await hashOnNewServer());
});
