import { engineSuite } from "reeve/testing/suites";
import { describe } from "vitest";
import { sample } from "../../effort.ts";
import { suiteOnRestate } from "./suite-on-restate.ts";

// The driver's replay is tried by every case on the local engine. Here only the adapter differs.
const cases = sample(engineSuite, 0.1, ({ name }) => name);

describe("restate engine, replayed after every operation", () => {
  suiteOnRestate(cases, { replayEveryStep: true, slowness: 5 });
});
