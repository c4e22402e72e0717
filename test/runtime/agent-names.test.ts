import { local } from "#engines/local";
import { AgentId, type Agent } from "#kernel";
import { Runtime } from "#runtime";
import { expect, test } from "vitest";

const writer = (): Agent => ({ id: AgentId.of("writer"), run: async () => null });

test("two agents of one name are refused", () => {
  const agents = [writer(), writer()];
  const problem = "two agents are named writer: give one of them another name";
  expect(() => new Runtime({ agents, engine: local() })).toThrow(problem);
});

test("the same agent may be listed twice", async () => {
  const agent = writer();
  await using runtime = new Runtime({ agents: [agent, agent], engine: local() });
  expect((await (await runtime.start(agent, "go")).result()).status).toBe("completed");
});
