import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checkFirst, countAfter, LedgerBank } from "./banks.ts";
import { Market, type Scenario, scenarios } from "./market.ts";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(3000);

test("P4 spend never exceeds any cap of its path at any instant, and does reach caps exactly", () => {
  let exact = 0;
  const withinCaps = fc.property(scenarios, (scenario) => {
    const market = new Market(new LedgerBank(scenario), scenario).play();
    exact += market.exact;
    return market.worst === 0;
  });
  expect(() => fc.assert(withinCaps, { numRuns })).not.toThrow();
  expect(exact).toBeGreaterThan(0);
});

// Nothing is lost and all is reported: only the overlap of calls remains.
const withoutFaults = ({ moves, ...rest }: Scenario): Scenario => ({
  ...rest,
  moves: moves.map(([caller, size, luck]) => [caller, size, luck < 6 ? luck + 6 : luck] as const),
});

test.each([
  ["counting after the call", countAfter],
  ["checking the balance first", checkFirst],
])("P4 %s overspends in the same scenarios, even if no call is lost", (_, planted) => {
  const sample = fc.sample(scenarios, { numRuns: 3000, seed: 1 }).map(withoutFaults);
  const markets = sample.map((scenario) => new Market(planted(scenario), scenario).play());
  expect(markets.filter(({ worst }) => worst > 0).length).toBeGreaterThan(1000);
});
