import { agent, tool } from "reeve";
import { z } from "zod";
import { model } from "./model.ts";

const look = tool({
  name: "look",
  description: "Look a subject up in the archive",
  input: z.object({ subject: z.string() }),
  risk: "safe",
  execute: async ({ subject }) => `The archive says of "${subject}": built in 1287, by the miller Odo.`,
});

const sendLetter = tool({
  name: "send_letter",
  description: "Send a letter by post",
  input: z.object({ to: z.string(), text: z.string() }),
  risk: "high", // waits until somebody says: reeve approve <id>
  execute: async ({ to }) => `The letter to ${to} is in the post.`,
});

export const digger = agent({
  name: "digger",
  description: "Finds facts in the archive",
  model,
  instructions: "Answer from the archive only.",
  tools: [look],
  budget: { maxCostUsd: 0.25 },
});

export const clerk = agent({
  name: "clerk",
  description: "Writes letters and sends them",
  model,
  instructions: "Send exactly one letter, then say so.",
  tools: [sendLetter],
  budget: { maxCostUsd: 0.25 },
});

export const boss = agent({
  name: "boss",
  description: "Answers questions, and tells the town",
  model,
  instructions: "Have the digger find out, then have the clerk write to the town.",
  team: [digger, clerk],
});
