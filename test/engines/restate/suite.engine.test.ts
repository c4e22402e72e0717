import { engineSuite } from "reeve/testing/suites";
import { describe } from "vitest";
import { suiteOnRestate } from "./suite-on-restate.ts";

describe("restate engine, not replayed", () => {
  suiteOnRestate(engineSuite, { replayEveryStep: false, slowness: 1 });
});
