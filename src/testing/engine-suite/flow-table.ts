import { branch, loop, map, parallel, sequence } from "#flows";
import { debate } from "#architectures";
import { agent } from "#agents";
import { say } from "../scripted-model.ts";
import { workerOf, type StrategyCase } from "./strategy-table.ts";

/** Every flow, and two compositions, each with the answer and the calls that it takes. */
export const flowTable: readonly StrategyCase[] = [
  {
    name: "sequence",
    make: (w) => {
      const draft = workerOf(w, "draft", "draft");
      const polish = workerOf(w, "polish", (prompt) => say(`polished ${prompt}`));
      const steps = sequence(draft, polish, (text: string) => `${text}!`);
      return agent({ name: "lead", architecture: steps });
    },
    answer: "polished draft!",
    calls: 2,
    failing: "polish",
    ends: { error: "polish: " },
  },
  {
    name: "parallel",
    make: (w) => {
      const [left, right] = [workerOf(w, "left", "L"), workerOf(w, "right", "R")];
      const architecture = parallel([left, right], { merge: (all) => all.join(" and ") });
      return agent({ name: "lead", architecture });
    },
    answer: "L and R",
    calls: 2,
    failing: "left",
    ends: { error: "left: " },
  },
  {
    name: "parallel that collects",
    make: (w) =>
      agent({
        name: "lead",
        architecture: parallel([workerOf(w, "left", "L"), workerOf(w, "right", "R")], { onError: "collect" }),
      }),
    answer: ["L", "R"],
    calls: 2,
    failing: "left",
    ends: { output: ["R"] },
  },
  {
    name: "branch",
    make: (w) => {
      const routes = { long: workerOf(w, "shorten", "Short."), short: (text: string) => text };
      return agent({
        name: "lead",
        architecture: branch((text: string) => (text.length > 3 ? "long" : "short"), routes),
      });
    },
    answer: "Short.",
    calls: 1,
    failing: "shorten",
    ends: { error: "shorten: " },
  },
  {
    name: "loop",
    make: (w) => {
      const step = workerOf(w, "polish", (prompt) => say(`${prompt}.`));
      return agent({ name: "lead", architecture: loop(step, { until: (text) => text.endsWith("...") }) });
    },
    answer: "Do it...",
    calls: 2,
    failing: "polish",
    ends: { error: "polish: " },
  },
  {
    name: "map",
    make: (w) => {
      const translate = workerOf(w, "translate", (prompt) => say(`in ${prompt}`));
      return agent({ name: "lead", architecture: map(translate, { split: () => ["en", "de"] }) });
    },
    answer: ["in en", "in de"],
    calls: 2,
    failing: "translate",
    ends: { error: "translate: " },
  },
  {
    name: "flow in a flow",
    make: (w) => {
      const both = parallel([workerOf(w, "left", "L"), workerOf(w, "right", "R")]);
      const finish = workerOf(w, "finish", (prompt) => say(`done with ${prompt}`));
      return agent({ name: "lead", architecture: sequence(both, finish) });
    },
    answer: 'done with ["L","R"]',
    calls: 3,
    failing: "right",
    ends: { error: "right: " },
  },
  {
    name: "flow whose worker is a debate",
    make: (w) => {
      const debaters = [workerOf(w, "optimist", "Yes."), workerOf(w, "sceptic", "Yes.")];
      const panel = agent({ name: "panel", architecture: debate({ debaters }) });
      const sign = workerOf(w, "sign", (prompt) => say(`${prompt} Signed.`));
      return agent({ name: "lead", architecture: sequence(panel, sign) });
    },
    answer: "Yes. Signed.",
    calls: 3,
    failing: "sign",
    ends: { error: "sign: " },
  },
];
