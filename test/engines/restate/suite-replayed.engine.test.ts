import { describe } from "vitest";
import { suiteOnRestate } from "./suite-on-restate.ts";

describe("restate engine, replayed after every operation", () => {
  suiteOnRestate({ fuzz: true, slowness: 5 });
});
