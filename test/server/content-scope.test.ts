import { type Agent, AgentId } from "reeve";
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
