import { describe } from "vitest";
import { suiteOnRestate } from "./suite-on-restate.ts";

describe("restate engine, not replayed", () => {
  suiteOnRestate({ replayEveryStep: false, slowness: 1 });
});
