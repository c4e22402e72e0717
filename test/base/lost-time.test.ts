import { expect, test } from "vitest";
import {
  lostBetween,
  measureLostTime,
  parseLostTime,
  parseProcessorTime,
  shareWithheld,
} from "../lost-time.ts";

const stat = (first: number, second: number): string =>
  `cpu  900 0 100 5000 10 0 5 ${first + second} 0 0\ncpu0 450 0 50 2500 5 0 2 ${first} 0 0\ncpu1 450 0 50 2500 5 0 3 ${second} 0 0\nintr 1\n`;
const pressure = (full: number): string =>
  `some avg10=0.20 avg60=1.89 avg300=4.51 total=9000000\nfull avg10=0.20 avg60=1.56 avg300=3.20 total=${full}\n`;

test("the time that a host takes from a processor, and a disk from all tasks, is lost", () => {
  const before = parseLostTime(stat(100, 200), pressure(1_000_000));
  expect(before).toEqual({ stolen: [1_000, 2_000], disk: 1_000 });
  const after = parseLostTime(stat(400, 210), pressure(1_250_000));
  expect(lostBetween(before, after)).toBe(3_000 + 250);
  expect(lostBetween(before, before)).toBe(0);
});

test("a system without the figure reports no lost time", () => {
  const nothing = parseLostTime("", "");
  expect(lostBetween(nothing, nothing)).toBe(0);
  expect(measureLostTime()()).toBeGreaterThanOrEqual(0);
});

test("the share of processor time that a host withholds is of what tasks wanted, not of the time that passed", () => {
  const before = parseProcessorTime(stat(100, 200));
  expect(before).toEqual({ wanted: 900 + 100 + 5 + 300, stolen: 300 });
  expect(shareWithheld(before, { wanted: before.wanted + 400, stolen: before.stolen + 300 })).toBe(0.75);
  expect(shareWithheld(before, before)).toBe(0);
  expect(parseProcessorTime("")).toEqual({ wanted: 0, stolen: 0 });
});
