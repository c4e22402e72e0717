// The model of all agents. This one is a script on your machine: it needs no key and costs nothing.
export { demoModel as model } from "./demo-model.ts";

// With a key in .env (ANTHROPIC_API_KEY=...), put this in place of the line above, and delete demo-model.ts:
//
//   import { anthropic } from "@ai-sdk/anthropic"; export const model = anthropic("claude-sonnet-4-5");
