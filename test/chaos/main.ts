import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { campaign } from "./campaign.ts";
import { pessimism } from "./directed/pessimism.ts";
import { threeKills } from "./directed/three-kills.ts";
import { unexecutable } from "./directed/unexecutable.ts";
import { type History, keep, readKept } from "./history.ts";
import { bugs } from "./planted/bugs.ts";
import { tryPlanted } from "./planted/try-planted.ts";
import { circumstances, findTooEasy, judge } from "./report.ts";
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
    /** Asks the predicates about a history that an earlier campaign kept in this folder, and does nothing else. */
    judge: { type: "string" },
    /** The machine may be busy with something else: nothing is held to seconds. */
    busy: { type: "boolean", default: false },
    /** Keeps the history also if every predicate holds. */
    keep: { type: "boolean", default: false },
    /** Only these planted bugs, by predicate; `none` for none. */
    planted: { type: "string", default: "all" },
    /** Plays the trials of the planted bugs without the bugs: their predicates must hold. */
    control: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// Ends the started processes with this one.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const isRight =
  values.judge === undefined
    ? [await runFaultSchedule(), await runDirectedScenarios(), await doubt()].every(Boolean)
    : sayVerdicts(await readKept(values.judge));
process.exitCode = isRight ? 0 : 1;

/** Returns whether every predicate holds. */
function sayVerdicts(history: History): boolean {
  const verdicts = judge(history);
  for (const { line, findings } of verdicts) {
    say(line);
    for (const { where, what } of findings.slice(0, 5)) say(`       ${where}: ${what}`);
  }
  return verdicts.every(({ findings }) => findings.length === 0);
}

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
    isMachineBusy: values.busy,
    progress: say,
  });
  for (const line of circumstances(played)) say(line);
  const isKept = sayVerdicts(played.history);
  const tooEasy = findTooEasy(played.history);
  if (tooEasy !== null) say(`this campaign says little: ${tooEasy}`);
  if (isKept && !values.keep) return tooEasy === null;
  const folder = join(tmpdir(), `reeve-chaos-${seed}-${process.pid}`);
  await keep(played.history, folder);
  say(`${isKept ? "" : `seed ${seed} broke a promise: `}its history is in ${folder}`);
  return isKept && tooEasy === null;
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
  const tried = await tryPlanted(wanted, { isControl: values.control, say });
  const right = tried.filter(Boolean).length;
  const outcome = values.control ? "predicates hold without their bugs" : "planted bugs caught";
  say(`${right} of ${tried.length} ${outcome}, in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  return right === tried.length;
}
