import { agent, createRuntime, languageModel, type AgentOptions, type RunResult } from "reeve";
import type { ProviderRequest, ProviderScript, FakeProvider } from "../../src/testing/fake-provider/index.ts";
import { openDouble, realModel, type ProviderName } from "../testing/real-providers.ts";

export const price = { input: 1_000_000, output: 1_000_000 };

/** Runs an agent on a real provider package against a double. Returns its result and what went over the wire. */
export async function runOnWire(
  name: ProviderName,
  options: Omit<AgentOptions<unknown>, "name" | "model">,
  texts: readonly [string, ...string[]],
  id = "claude-sonnet-4-5",
): Promise<{ result: RunResult; requests: readonly ProviderRequest[]; double: FakeProvider }> {
  const requests: ProviderRequest[] = [];
  const script: ProviderScript = (request) => ({ text: texts[requests.push(request) - 1] ?? texts[0] });
  const double = await openDouble({ script });
  const model = languageModel(realModel(name, double, id), { price });
  const worker = agent({ ...options, name: "worker", model });
  await using runtime = createRuntime({ agents: [worker] });
  const run = await runtime.start(worker, "When?", { budget: { maxCostUsd: 1 } });
  return { result: await run.result(), requests, double };
}
