import { createOpenAI } from "@ai-sdk/openai";
import { createRuntime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import {
  ProviderMessage,
  fakeProvider,
  type ProviderAnswer,
  type ProviderRequest,
  type FakeProvider,
} from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  eventually,
  killWorkers,
  startWorker,
  type WorkerProcess,
} from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { crewOf } from "./fixtures/crew.ts";
import { outline, recorder } from "./recorder.ts";

let server: RestateServer;
let double: FakeProvider;
const held = Promise.withResolvers<void>();
const asked: string[] = [];
/** The span passed to the tool in each execution. */
const told: string[] = [];

/**
 * Everything is answered at once, except the first execution of the tool and the first attempt of the child's last
 * call.
 */
async function script({ model, messages }: ProviderRequest): Promise<ProviderAnswer> {
  const last = messages.at(-1);
  const isFirst = last?.role === "user";
  const name = `${model} ${isFirst ? "first" : "last"}`;
  asked.push(name);
  if (model === "witness" && last) told.push(ProviderMessage.text(last));
  const hangs = name === "witness first" || name === "writer-model last";
  if (hangs && times(name) === 1) await held.promise;
  if (model === "lead-model" && isFirst) return { toolCalls: [{ name: "ask_writer", input: { task: "a" } }] };
  if (model === "writer-model" && isFirst) return { toolCalls: [{ name: "note", input: {} }] };
  return { text: "done" };
}

const times = (name: string): number => asked.filter((other) => other === name).length;

beforeAll(async () => {
  server = await restateServer();
  double = await fakeProvider({ script });
});

afterAll(async () => {
  held.resolve();
  await killWorkers();
  await double.close();
  await server.stop();
});

test("a run killed in a tool and in a model call is one span for each step, for every reader", async () => {
  const port = await freePort();
  const start = (): Promise<WorkerProcess> =>
    startWorker("../../../telemetry/fixtures/crew-worker.ts", [
      server.ingress,
      server.admin,
      String(port),
      double.baseURL,
    ]);
  const replace = async (worker: WorkerProcess): Promise<WorkerProcess> => {
    worker.process.kill("SIGKILL");
    await worker.exit;
    return start();
  };
  let worker = await start();
  const crew = crewOf(createOpenAI({ baseURL: double.baseURL, apiKey: "none" }));
  await using runtime = createRuntime({ agents: crew, engine: restate(server) });
  const run = await runtime.start(crew[0], "go", { budget: { maxTokens: 50_000 } });
  const live = recorder();
  const following = live.telemetry.follow(run.events());

  await eventually(() => times("witness first") === 1);
  worker = await replace(worker);
  await eventually(() => times("writer-model last") === 1);
  worker = await replace(worker);
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  await following;

  const later = recorder();
  await later.telemetry.follow(run.events());
  const spans = await live.spans();
  expect(await later.spans()).toEqual(spans);
  expect(outline(spans)).toEqual([
    [
      "invoke_workflow lead",
      [
        [
          "invoke_agent lead",
          [
            ["cycle", ["chat lead-model", "execute_tool ask_writer", "spawn writer"]],
            ["cycle", ["chat lead-model"]],
            [
              "invoke_agent writer",
              [
                ["cycle", ["chat writer-model", "execute_tool note"]],
                ["cycle", ["chat writer-model"]],
              ],
            ],
          ],
        ],
      ],
    ],
  ]);
  expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);
  expect(spans.filter(({ began, ended }) => ended < began)).toEqual([]);

  const tool = spans.find(({ name }) => name === "execute_tool note");
  const parent = `00-${tool?.trace}-${tool?.id}-01`;
  expect(told).toEqual([parent, parent]);
  const retried = spans.filter(({ attributes }) => attributes["reeve.attempts"] === 2);
  expect(retried).toMatchObject([{ name: "chat writer-model", attributes: { "reeve.in_doubt": true } }]);
  expect(await live.count("reeve.in_doubt", "gen_ai.operation.name")).toEqual({ chat: 1 });
});
