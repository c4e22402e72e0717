// A call waits for approval as long as needed, even if its worker is killed, and any process can approve it.
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { agent, createRuntime, tool, type Model } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const sendEmail = tool({
  name: "send_email",
  description: "Send an e-mail",
  input: z.object({ to: z.string(), text: z.string() }),
  risk: "critical", // above safe: it needs approval
  execute: async ({ to, text }) => `sent to ${to}: ${text}`,
});
const answers = scriptedModel([say("It is sent.")]);
const calls = scriptedModel([call("send_email", { to: "team@example.com", text: "Sales grew." })]);
const model: Model = {
  id: "writer",
  // Decides by the prompt alone, without memory: the call may be made in another process.
  generate: (request, given) =>
    (request.messages.at(-1)?.role === "tool" ? answers : calls).generate(request, given),
};
const writer = agent({ name: "writer", model, tools: [sendEmail] });

const [, , ingress, admin] = process.argv;
if (ingress && admin) {
  // The worker: it runs agents, and can die at any moment.
  const engine = restate({ ingress, admin });
  const runtime = createRuntime({ agents: [writer], engine, approver: "human" });
  await runtime.serve({ port: 9080 });
  process.send?.("ready");
  process.once("disconnect", () => process.exit());
} else {
  await using server = await restateServer();
  const startWorker = async (): Promise<ChildProcess> => {
    const worker = fork(import.meta.filename, [server.ingress, server.admin]);
    await once(worker, "message");
    return worker;
  };
  const first = await startWorker();
  await using runtime = createRuntime({ agents: [writer], engine: restate(server) }); // starts runs, is not a worker
  const { runId } = await runtime.start(writer, "Send the report");

  // Another process, which has only the run's id.
  const run = runtime.run(runId);
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  first.kill("SIGKILL");
  const second = await startWorker();
  const [question] = await run.approvals();
  console.log(question?.tool, question?.arguments, question?.why);
  assert.deepEqual(question?.arguments, { to: "team@example.com", text: "Sales grew." });
  await run.edit(
    question.id,
    { to: "team@example.com", text: "Sales grew by 9 percent." },
    { by: "ada", hash: question.hash },
  );
  const { status, output } = await run.result();
  const [decided] = await run.approvals();
  second.kill("SIGKILL");
  console.log(status, output);
  assert.deepEqual([status, output], ["completed", "It is sent."]);
  assert.deepEqual([decided?.decision?.decision, decided?.decision?.by], ["edited", "ada"]);
}
