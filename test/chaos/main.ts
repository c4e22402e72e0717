import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { campaign } from "./campaign.ts";
import { pessimism } from "./directed/pessimism.ts";
import { threeKills } from "./directed/three-kills.ts";
import { unexecutable } from "./directed/unexecutable.ts";
import { keep } from "./history.ts";
import { bugs } from "./planted/bugs.ts";
import { tryPlanted } from "./planted/try-planted.ts";
import { circumstances, isHard, judge } from "./report.ts";
import { openStage } from "./stage/stage.ts";
import { plans } from "./workload/plan.ts";

/** `npm run chaos -- --runs 200 --seed 7`: plays a campaign, asks every predicate, tries every planted bug. */
const { values } = parseArgs({
  allowNegative: true,
  options: {
    runs: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    lanes: { type: "string", default: "20" },
    /** Also what chance would bring too seldom. `--no-directed` for not. */
    directed: { type: "boolean", default: true },
    /** Only these planted bugs, by predicate; `none` for none. */
    planted: { type: "string", default: "all" },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// Ends the started processes with this one.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const isRight = [await runFaultSchedule(), await runDirectedScenarios(), await doubt()].every(Boolean);
process.exitCode = isRight ? 0 : 1;

async function runFaultSchedule(): Promise<boolean> {
  const { seed } = values;
  const runs = Number(values.runs);
  if (runs === 0) return true;
  say(`seed ${seed}, ${runs} runs`);
  await using stage = await openStage({ seed, providerFaults: 0.1 });
  const played = await campaign(stage, {
    seed,
    trees: plans(seed),
    runs,
    lanes: Number(values.lanes),
    progress: say,
  });
  for (const line of circumstances(played)) say(line);
  const verdicts = judge(played.history);
  for (const { line, findings } of verdicts) {
    say(line);
    for (const { where, what } of findings.slice(0, 5)) say(`       ${where}: ${what}`);
  }
  const hard = isHard(played.history);
  if (!hard) say("too few trees met a cap or filled their headcount: this says little");
  if (verdicts.every(({ findings }) => findings.length === 0)) return hard;
  const folder = join(tmpdir(), `reeve-chaos-${seed}-${process.pid}`);
  await keep(played.history, folder);
  say(`seed ${seed} broke a promise: its history is in ${folder}`);
  return false;
}

/** Runs scenarios that random faults would cause too rarely. */
async function runDirectedScenarios(): Promise<boolean> {
  if (!values.directed) return true;
  const kills = await threeKills();
  say(kills.line);
  const doubts = await pessimism(20);
  say(doubts.line);
  const stuck = await unexecutable();
  say(stuck.line);
  return kills.isRight && doubts.isRight && stuck.isRight;
}

/** A checker that cannot fail proves nothing. */
async function doubt(): Promise<boolean> {
  const wanted = bugs.filter(
    ({ predicate }) => values.planted === "all" || values.planted.split(",").includes(predicate),
  );
  if (wanted.length === 0) return true;
  const began = performance.now();
  const tried = await tryPlanted(wanted);
  for (const { line } of tried) say(line);
  const caught = tried.filter(({ isCaught }) => isCaught).length;
  say(
    `${caught} of ${tried.length} planted bugs caught in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
  );
  return caught === tried.length;
}
