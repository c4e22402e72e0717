import { tool } from "reeve";
import { z } from "zod";

/** A safe tool without input. */
export const look = tool({
  name: "look",
  description: "Looks",
  input: z.object({}),
  risk: "safe",
  execute: () => 1,
});
