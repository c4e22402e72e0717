import { agent, handoff, ModelError, type Agent, type AgentSpec, type Json } from "reeve";
import {
  actorCritic,
  blackboard,
  debate,
  orchestrator,
  planAndExecute,
  reflexion,
  router,
  supervisor,
  swarm,
  treeOfThoughts,
} from "reeve/architectures";
import { call } from "reeve/testing";
import type { CostCase, Reply, Size, Team } from "./cost-team.ts";

const get = (size: Size, name: string): number => size[name] ?? Number.NaN;
const json = (value: Json): string => JSON.stringify(value);
const broken = (): Error => new ModelError({ kind: "format", message: "broken" });

/** Asks all workers in each round, then sums up. With `forward`, the last answer is the answer of the turn. */
function askWorkers(workers: readonly AgentSpec[], rounds: number, forward: boolean): Reply {
  return (_, number) => {
    if (number > rounds) return "done";
    const calls = workers.map(({ id }): [string, Json] => [
      `ask_${id}`,
      { task: "work", ...(forward && number === rounds && { forward }) },
    ]);
    const [first = ["", null], ...rest] = calls;
    return call(...first, ...rest);
  };
}

function plan(ids: readonly string[], worker: (id: string) => string): string {
  return json({ steps: ids.map((id) => ({ id, task: id, worker: worker(id), after: [] })) });
}

/** Creates plans whose last step fails in every plan but the good one. */
function makePlans({ steps, plans, good }: Readonly<Record<"steps" | "plans" | "good", number>>): Reply {
  const each = steps / plans;
  return (prompt, number) => {
    if (!prompt.startsWith("Make a plan")) return "done";
    const ids = Array.from({ length: each }, (_, index) => `p${number}s${index + 1}`);
    return plan(ids, (id) => (number !== good && id === ids.at(-1) ? "broken" : "w1"));
  };
}

const makeSupervisor =
  (forward: boolean) =>
  (team: Team, size: Size): Agent => {
    const workers = team.createWorkers(get(size, "asked") / get(size, "rounds"));
    const model = team.model("lead", askWorkers(workers, get(size, "rounds"), forward));
    return agent({ name: "lead", model, architecture: supervisor({ workers }) });
  };

const makeRouter =
  (isBroken: boolean) =>
  (team: Team, size: Size): Agent => {
    const first = team.worker("w0", isBroken ? broken : undefined);
    const [fallback, ...others] = team.createWorkers(get(size, "routes"));
    const model = team.model("lead", () => json({ route: "w0", confidence: 1 }));
    const routes = [first, ...others];
    return agent({ name: "lead", model, architecture: router({ routes, fallback }) });
  };

const makeDebate =
  (isJudged: boolean) =>
  (team: Team, size: Size): Agent => {
    const debaters = team.createWorkers(get(size, "debaters"));
    const judge = isJudged ? team.worker("judge") : undefined;
    return agent({ name: "lead", architecture: debate({ debaters, judge, rounds: get(size, "rounds") }) });
  };

const makeBlackboard =
  (isFound: boolean) =>
  (team: Team, size: Size): Agent => {
    const rounds = get(size, isFound ? "contributions" : "rounds");
    const experts = team.createWorkers(2);
    const model = team.model("lead", (_, number) =>
      json({ done: number > rounds, expert: "w1", answer: "done" }),
    );
    const architecture = blackboard({ experts, rounds: isFound ? rounds + 1 : rounds });
    return agent({ name: "lead", model, architecture });
  };

const makeSwarm = (team: Team, size: Size): Agent => {
  const last = get(size, "handoffs");
  const members = Array.from({ length: last + 1 }, (_, index) => {
    const next = `w${index + 1}`;
    const reply: Reply = () => (index === last ? "done" : call(`handoff_to_${next}`, { message: "please" }));
    return agent({
      name: `w${index}`,
      model: team.model(`w${index}`, reply),
      handoffs: index === last ? [] : [handoff(next)],
    });
  });
  return agent({ name: "lead", architecture: swarm({ members, maxHandoffs: last }) });
};

const makePlan =
  (isGood: boolean) =>
  (team: Team, size: Size): Agent => {
    const [steps, plans] = [get(size, "steps"), get(size, "plans")];
    const workers = [...team.createWorkers(1), team.worker("broken", broken)];
    const model = team.model("lead", makePlans({ steps, plans, good: isGood ? plans : 0 }));
    const architecture = planAndExecute({ workers, replans: plans - 1 });
    return agent({ name: "lead", model, architecture });
  };

const makeReflexion =
  (isGood: boolean) =>
  (team: Team, size: Size): Agent => {
    const trials = get(size, "trials");
    const architecture = reflexion({
      actor: team.worker("actor"),
      evaluator: team.critic(isGood ? trials : 0),
      trials,
    });
    return agent({ name: "lead", model: team.model("lead", () => "be brave"), architecture });
  };

/** Every strategy, in every way that differs in cost. */
export const costTable: readonly CostCase[] = [
  {
    page: "supervisor",
    when: "the leader sums up",
    means: "react",
    leader: "rounds + 1",
    workers: "asked",
    sizes: [
      { asked: 2, rounds: 1 },
      { asked: 6, rounds: 2 },
      { asked: 20, rounds: 1 },
    ],
    make: makeSupervisor(false),
  },
  {
    page: "supervisor",
    when: "the leader forwards an answer",
    means: "react",
    leader: "rounds",
    workers: "asked",
    sizes: [
      { asked: 1, rounds: 1 },
      { asked: 3, rounds: 3 },
    ],
    make: makeSupervisor(true),
  },
  {
    page: "orchestrator",
    when: "the leader sums up",
    means: "react",
    leader: "rounds + 1",
    workers: "asked",
    sizes: [
      { asked: 2, rounds: 1 },
      { asked: 6, rounds: 2 },
    ],
    make: (team, size) => {
      const workers = team.createWorkers(get(size, "asked") / get(size, "rounds"));
      const model = team.model("lead", askWorkers(workers, get(size, "rounds"), false));
      const members = workers.map(
        (worker) => ({ agent: worker, priority: "high", askTimeoutS: 60 }) as const,
      );
      return agent({ name: "lead", model, architecture: orchestrator({ workers: members }) });
    },
  },
  {
    page: "router",
    when: "the route answers",
    means: "think",
    leader: "1",
    workers: "1",
    sizes: [{ routes: 2 }, { routes: 10 }],
    make: makeRouter(false),
  },
  {
    page: "router",
    when: "the route fails, and the fallback answers",
    means: "think",
    leader: "1",
    workers: "2",
    sizes: [{ routes: 2 }, { routes: 10 }],
    make: makeRouter(true),
  },
  {
    page: "actor-critic",
    when: "any",
    means: null,
    leader: "0",
    workers: "2 × rounds",
    sizes: [{ rounds: 1 }, { rounds: 2 }, { rounds: 5 }],
    make: (team, size) => {
      const rounds = get(size, "rounds");
      const architecture = actorCritic({ actor: team.worker("actor"), critic: team.critic(rounds), rounds });
      return agent({ name: "lead", architecture });
    },
  },
  {
    page: "debate",
    when: "the votes decide",
    means: null,
    leader: "0",
    workers: "debaters × rounds",
    sizes: [
      { debaters: 2, rounds: 2 },
      { debaters: 5, rounds: 1 },
      { debaters: 3, rounds: 4 },
    ],
    make: makeDebate(false),
  },
  {
    page: "debate",
    when: "a judge decides",
    means: null,
    leader: "0",
    workers: "debaters × rounds + 1",
    sizes: [
      { debaters: 2, rounds: 2 },
      { debaters: 3, rounds: 4 },
    ],
    make: makeDebate(true),
  },
  {
    page: "blackboard",
    when: "the answer is found",
    means: "think",
    leader: "contributions + 1",
    workers: "contributions",
    sizes: [{ contributions: 1 }, { contributions: 3 }, { contributions: 6 }],
    make: makeBlackboard(true),
  },
  {
    page: "blackboard",
    when: "the rounds are over",
    means: "think",
    leader: "rounds",
    workers: "rounds",
    sizes: [{ rounds: 2 }, { rounds: 8 }],
    make: makeBlackboard(false),
  },
  {
    page: "swarm",
    when: "any",
    means: null,
    leader: "0",
    workers: "handoffs + 1",
    sizes: [{ handoffs: 0 }, { handoffs: 1 }, { handoffs: 5 }],
    make: makeSwarm,
  },
  {
    page: "plan-and-execute",
    when: "the last plan holds",
    means: "think",
    leader: "plans + 1",
    workers: "steps",
    sizes: [
      { steps: 2, plans: 1 },
      { steps: 5, plans: 1 },
      { steps: 6, plans: 3 },
    ],
    make: makePlan(true),
  },
  {
    page: "plan-and-execute",
    when: "every plan fails",
    means: "think",
    leader: "plans",
    workers: "steps",
    sizes: [{ steps: 4, plans: 2 }],
    make: makePlan(false),
  },
  {
    page: "reflexion",
    when: "the last trial is good enough",
    means: "think",
    leader: "trials - 1",
    workers: "2 × trials",
    sizes: [{ trials: 1 }, { trials: 2 }, { trials: 4 }],
    make: makeReflexion(true),
  },
  {
    page: "reflexion",
    when: "no trial is good enough",
    means: "think",
    leader: "trials",
    workers: "2 × trials",
    sizes: [{ trials: 3 }],
    make: makeReflexion(false),
  },
  {
    page: "tree-of-thoughts",
    when: "beam ≤ branches",
    means: null,
    leader: "0",
    workers: "2 × branches × (1 + beam × (depth - 1))",
    sizes: [
      { branches: 2, beam: 1, depth: 2 },
      { branches: 3, beam: 2, depth: 3 },
      { branches: 4, beam: 1, depth: 1 },
    ],
    make: (team, size) => {
      const sizes = { branches: get(size, "branches"), beam: get(size, "beam"), depth: get(size, "depth") };
      const architecture = treeOfThoughts({
        thinker: team.worker("thinker"),
        evaluator: team.critic(0),
        ...sizes,
      });
      return agent({ name: "lead", architecture });
    },
  },
];
