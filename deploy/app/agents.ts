import { createOpenAI } from "@ai-sdk/openai";
import { agent, languageModel } from "reeve";

const openai = createOpenAI({ baseURL: process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1" });

/** Yours go here. Workers and server need the same ones. */
export const writer = agent({
  name: "writer",
  model: languageModel(openai.chat(process.env["MODEL"] ?? "gpt-5-mini"), { maxOutputTokens: 2_000 }),
  instructions: "Answer in one sentence.",
});
