import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Chance } from "../simulation/chance.ts";
import { functionAround, functionsOf } from "./functions.ts";
import { Laboratory, type Verdict } from "./laboratory.ts";
import { mutantsOf, type Mutant } from "./mutants.ts";
import { filesIn, parts, root } from "./parts.ts";
import { readResults, writeResults } from "./results.ts";
import { Selection } from "./selection.ts";

/*
 * `npm run mutate -- --part tree`: plants bugs one by one into a part of the source and runs the tests that enter the
 * changed function, the likeliest first, until one fails. A mutant that none of them detects survives.
 * --count mutants of each part, drawn by --seed. Default 300.
 * --budget seconds of tests for one mutant, as measured. Default 20. A survivor may be killed by a test that did not
 * fit.
 * --again tries the survivors of the last run, with this budget, and keeps the verdicts of the others.
 */
const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true, default: Object.keys(parts) },
    count: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    budget: { type: "string", default: "20" },
    again: { type: "boolean", default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

for (const part of values.part) await mutate(part);

async function mutate(part: string): Promise<void> {
  const began = performance.now();
  const { source = [], tests = [] } = parts[part] ?? {};
  const files = filesIn(source);
  if (files.length === 0) throw new TypeError(`no part ${part}: one of ${Object.keys(parts).join(", ")}`);
  const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
  const known = values.again ? readResults(part) : [];
  const survivors = new Set(known.filter(({ killer }) => killer === null).map(({ id }) => id));
  const sample = values.again
    ? all.filter(({ id }) => survivors.has(id))
    : draw(all, Number(values.count), Number(values.seed));
  print(`${part}: ${sample.length} of ${all.length} mutants in ${files.length} files`);
  await using laboratory = new Laboratory();
  const { tests: measured, failed } = await laboratory.measure(filesIn(tests), files);
  // On a busy machine a test with a time limit may fail on its own, so its result is ignored.
  for (const name of failed) print(`left out, fails without a mutant: ${name}`);
  const sound = measured.filter(({ file, name }) => !failed.includes(`${file}: ${name}`));
  const selection = new Selection(sound, Number(values.budget) * 1_000);
  const verdicts: Verdict[] = known.filter(({ id }) => !survivors.has(id));
  for (const mutant of sample) {
    const verdict = await laboratory.attempt(mutant, selection.testsFor(functionOf(mutant)));
    if (verdict.killer) selection.learn(mutant.file, verdict.killer);
    else print(`survived ${mutant.id}: ${shorten(mutant.was)} -> ${shorten(mutant.becomes)}`);
    verdicts.push(verdict);
    writeResults(part, verdicts);
  }
  const killed = verdicts.filter(({ killer }) => killer !== null).length;
  const share = ((100 * killed) / verdicts.length).toFixed(1);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  print(`${part}: ${killed} of ${verdicts.length} killed, ${share} %, in ${minutes} minutes`);
}

/** Draws so many of a list, each at most once, in an order that depends on the seed. */
function draw(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const chance = new Chance(seed);
  const drawn = mutants.map((mutant) => ({ mutant, place: chance.next() }));
  return drawn
    .toSorted((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

function functionOf({ file, start }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  return `${file}:${functionAround(functionsOf(source), start)}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 70)}...` : line;
}
