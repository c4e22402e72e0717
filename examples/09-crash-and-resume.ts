// A worker is killed in the middle of a run, and another one resumes it. Finished steps are not repeated or paid again.
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createOpenAI } from "@ai-sdk/openai";
import { AgentId, ChatMessage, createRuntime, languageModel, type Agent } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { ProviderMessage, fakeProvider } from "reeve/testing";

const writer = (baseURL: string): Agent => ({
  id: AgentId.of("writer"),
  model: languageModel(createOpenAI({ baseURL, apiKey: "none" }).chat("gpt-4o")),
  run: async (ctx) => {
    const report: string[] = [];
    for (const title of ["sales", "prices", "subsidies", "installers"])
      report.push(ChatMessage.text((await ctx.llm([ChatMessage.user(title)])).message)); // a step each
    return report;
  },
});

const [, , ingress, admin, baseURL] = process.argv;
if (ingress && admin && baseURL) {
  // The worker: it runs agents, and can die at any moment.
  const runtime = createRuntime({ agents: [writer(baseURL)], engine: restate({ ingress, admin }) });
  await runtime.serve({ port: 9080 });
  process.send?.("ready");
  process.once("disconnect", () => process.exit());
} else {
  await using server = await restateServer();
  const asked: string[] = [];
  const third = Promise.withResolvers<void>();
  await using double = await fakeProvider({
    script: ({ messages }) => {
      const title = messages.map(ProviderMessage.text).join();
      if (asked.push(title) === 3) third.resolve();
      return { text: `All about ${title}.` };
    },
    latency: () => (asked.length === 3 ? 60_000 : 0), // billed, and not yet answered when the worker is killed
  });
  const startWorker = async (): Promise<ChildProcess> => {
    const worker = fork(import.meta.filename, [server.ingress, server.admin, double.baseURL]);
    await once(worker, "message");
    return worker;
  };
  const first = await startWorker();
  const agent = writer(double.baseURL);
  await using runtime = createRuntime({ agents: [agent], engine: restate(server) }); // starts runs, is not a worker
  const run = await runtime.start(agent, "Write a report");
  await third.promise;
  first.kill("SIGKILL");
  const second = await startWorker();
  const { status, output, inDoubtMicros } = await run.result();
  second.kill("SIGKILL");
  console.log(status, output, asked);
  assert.equal(status, "completed");
  assert.deepEqual(asked, ["sales", "prices", "subsidies", "subsidies", "installers"]);
  assert.equal(double.bill.total().billed, 5); // the lost call was paid, the finished ones once
  assert.ok(inDoubtMicros > 0); // and the ledger records it
}
