import { describe } from "vitest";
import { suiteOnRestate } from "./suite-on-restate.ts";

describe("restate engine, replayed after every operation", () => {
  suiteOnRestate({ replayEveryStep: true, slowness: 5 });
});
