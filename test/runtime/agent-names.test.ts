import { local } from "#engines/local";
import { AgentId, type Agent } from "#kernel";
import { Runtime } from "#runtime";
import { expect, test } from "vitest";

const clerk = (): Agent => ({ id: AgentId.of("clerk"), run: async () => null });

test("two agents of one name are refused, not the first one replaced in silence", () => {
  const agents = [clerk(), clerk()];
  const problem = "two agents are named clerk: give one of them another name";
  expect(() => new Runtime({ agents, engine: local() })).toThrow(problem);
});

test("the same agent may be listed twice", async () => {
  const agent = clerk();
  await using runtime = new Runtime({ agents: [agent, agent], engine: local() });
  expect((await (await runtime.start(agent, "go")).result()).status).toBe("completed");
});
