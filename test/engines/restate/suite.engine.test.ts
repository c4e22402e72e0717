import { describe } from "vitest";
import { suiteOnRestate } from "./suite-on-restate.ts";

describe("restate engine, as it is", () => {
  suiteOnRestate({ replayEveryStep: false, slowness: 1 });
});
