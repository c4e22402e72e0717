import { createOpenAI } from "@ai-sdk/openai";
import { agent, languageModel, type Agent } from "reeve";

/** An agent whose model is a provider on this machine. About 30 of its turns fill its context. */
export function listener(baseURL: string): Agent {
  const openai = createOpenAI({ baseURL, apiKey: "none" });
  const price = { input: 1_000_000, output: 4_000_000 };
  const limits = { maxOutputTokens: 200, contextWindow: 1_500 };
  const model = languageModel(openai.chat("listener"), { price, ...limits });
  return agent({ name: "listener", model, compaction: { reserve: 500, keepRecent: 400 } });
}
