// Reeve with a store, each run as the first turn of a conversation of its own.
import { randomUUID } from "node:crypto";
import { memoryStore } from "reeve/stores/memory";
import { setup as setupWith } from "../ours/adapter.mjs";

export const name = "Reeve, in a session";

export const setup = () =>
  setupWith({
    options: { store: memoryStore(), eraseAfterS: 1 },
    startOptions: () => ({ session: randomUUID() }),
  });
