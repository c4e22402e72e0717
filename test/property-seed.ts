import { hash } from "node:crypto";
import { configureGlobal } from "fast-check";
import { seed } from "./effort.ts";

// Properties of one commit always try the same values, so that a failure can be reproduced. Each commit tries others.
if (process.env["REEVE_SEED"] !== undefined)
  configureGlobal({ seed: Number.parseInt(hash("sha256", seed).slice(0, 8), 16) | 0 });
