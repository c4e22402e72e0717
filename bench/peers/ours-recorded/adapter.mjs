// Reeve with a store that records the content of every step, and erases it soon.
import { memoryStore } from "reeve/stores/memory";
import { setup as setupWith } from "../ours/adapter.mjs";

export const name = "Reeve, recorded";

export const setup = () =>
  setupWith({ options: { store: memoryStore(), record: "steps", retention: "run", eraseAfterS: 1 } });
