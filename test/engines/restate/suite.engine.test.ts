import { engineSuite } from "reeve/testing/suites";
import { describe } from "vitest";
import { sample } from "../../effort.ts";
import { suiteOnRestate } from "./suite-on-restate.ts";

// A strategy is code above the driver, and the local engine tries all of them. They are a third of the suite's time.
const isOfStrategy = ({ name }: { readonly name: string }): boolean => name.startsWith("10.");
const tried = sample(engineSuite.filter(isOfStrategy), 0.3, ({ name }) => name);
const cases = engineSuite.filter((each) => !isOfStrategy(each) || tried.includes(each));

describe("restate engine, not replayed", () => {
  suiteOnRestate(cases, { replayEveryStep: false, slowness: 1 });
});
