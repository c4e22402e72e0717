import { Runtime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { expect, test } from "vitest";
import { createTopicLoad } from "../topic-load.ts";

const subscribers = 50;

// 200 subscribers took 121 s at a load of 17, most of it for their 4,000 takes from the one tree.
test("each of 50 subscribers gets 20 messages of two senders once and in order", async () => {
  const agents = createTopicLoad({ subscribers, messagesPerSender: 10 });
  await using server = await restateServer();
  await using runtime = new Runtime({ agents, engine: restate({ ...server, log: () => {} }) });
  await runtime.serve({ port: 0, deltas: null });
  const began = performance.now();
  const run = await runtime.start(agents[0], "go", { spawn: { maxAgents: subscribers + 3 } });
  expect((await run.result()).output).toBe(subscribers);
  process.stdout.write(
    `${subscribers} subscribers and 20 messages: ${Math.round(performance.now() - began)} ms\n`,
  );
});
