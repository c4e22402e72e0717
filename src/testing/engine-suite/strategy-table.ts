import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
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
  type Verdict,
} from "#architectures";
import { agent, handoff } from "#agents";
import {
  ChatMessage,
  isJsonObject,
  ModelError,
  type Agent,
  type AgentSpec,
  type Json,
  type Model,
} from "#kernel";
import { call, say, type ScriptedAnswer } from "../scripted-model.ts";

/** An answer to a prompt: `number` counts the model calls since that prompt, from 1. */
export type Reply = (prompt: string, number: number) => ScriptedAnswer;

/** Creates the agents of a case, counts their model calls, and may make one of them fail. */
export interface Workshop {
  /** Names of the models that were called, in order. */
  readonly calls: string[];
  /** The worker whose model fails. Null: none. */
  readonly failing: string | null;
  /** The worker whose own budget is too small for a call. Null: none. */
  readonly poor: string | null;
  /** Called before each model call: a case may wait here. */
  readonly beforeCall: (name: string, signal: AbortSignal) => Promise<void> | void;
  /** Makes the model with this name. Default: it answers in this process. */
  readonly model?: (name: string, reply: Reply) => Model;
}

/** One architecture with scripted workers. */
export interface StrategyCase {
  readonly name: string;
  make(workshop: Workshop): Agent;
  /** The answer without failures, and the number of model calls for it. */
  readonly answer: Json;
  readonly calls: number;
  /** The worker that fails in the failure case, and the result: an output, or the beginning of the error. */
  readonly failing: string;
  readonly ends: { readonly output: Json } | { readonly error: string };
}

const price = { input: 1_000_000, output: 1_000_000 };

function modelOf(workshop: Workshop, name: string, reply: Reply): Model {
  if (workshop.model) return workshop.model(name, reply);
  return {
    id: name,
    price,
    generate: async ({ messages }, { signal }) => {
      await workshop.beforeCall(name, signal);
      if (workshop.failing === name) throw new ModelError({ kind: "format", message: `${name} is broken` });
      workshop.calls.push(name);
      const asked = messages.findLastIndex(({ role }) => role === "user");
      const last = messages[asked];
      const number = 1 + messages.slice(asked).filter(({ role }) => role === "assistant").length;
      const { message, finishReason } = reply(last ? ChatMessage.text(last) : "", number);
      return { message, finishReason, usage: { input: 10, output: 5 } };
    },
  };
}

const budgetOf = ({ poor }: Workshop, name: string): Pick<AgentSpec, "budget"> =>
  poor === name ? { budget: { maxTokens: 1 } } : {};

/** Creates a worker that answers with text. */
export const workerOf = (workshop: Workshop, name: string, reply: Reply | string): AgentSpec<string> =>
  agent({
    name,
    model: modelOf(workshop, name, typeof reply === "string" ? () => say(reply) : reply),
    ...budgetOf(workshop, name),
  });

const verdictSchema: StandardSchemaV1<unknown, Verdict> & StandardJSONSchemaV1<unknown, Verdict> = {
  "~standard": {
    version: 1,
    vendor: "reeve",
    validate: (given) => {
      const { score, feedback } = isJsonObject(given) ? given : {};
      return typeof score === "number" && typeof feedback === "string"
        ? { value: { score, feedback } }
        : { issues: [{ message: "a score and feedback are needed" }] };
    },
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

/** Judges by the last number in brackets. */
const judge: Reply = (prompt) => {
  const score = Number(/\[(0\.\d+)\](?![^]*\[0\.)/.exec(prompt)?.[1] ?? 0);
  return say(JSON.stringify({ score, feedback: "be brave" }));
};

/** A worker that judges. */
const criticOf = (workshop: Workshop, name: string): AgentSpec<Verdict> =>
  agent({ name, model: modelOf(workshop, name, judge), output: verdictSchema, ...budgetOf(workshop, name) });

const json = (value: Json): ScriptedAnswer => say(JSON.stringify(value));

/** Every architecture, each with the answer and the calls that it takes. */
export const strategyTable: readonly StrategyCase[] = [
  {
    name: "supervisor",
    make: (w) =>
      agent({
        name: "lead",
        model: modelOf(w, "lead", (_, number) =>
          number === 1 ? call("ask_left", { task: "l" }, ["ask_right", { task: "r" }]) : say("Both."),
        ),
        architecture: supervisor({ workers: [workerOf(w, "left", "L"), workerOf(w, "right", "R")] }),
      }),
    answer: "Both.",
    calls: 4,
    failing: "left",
    ends: { output: "Both." },
  },
  {
    name: "supervisor that forwards",
    make: (w) =>
      agent({
        name: "lead",
        model: modelOf(w, "lead", () => call("ask_left", { task: "l", forward: true })),
        architecture: supervisor({ workers: [workerOf(w, "left", "Word for word.")] }),
      }),
    answer: "Word for word.",
    calls: 2,
    failing: "lead",
    ends: { error: "lead is broken" },
  },
  {
    name: "orchestrator",
    make: (w) =>
      agent({
        name: "lead",
        model: modelOf(w, "lead", (_, number) =>
          number === 1 ? call("ask_left", { task: "l" }) : say("Done."),
        ),
        architecture: orchestrator({ workers: [{ agent: workerOf(w, "left", "L"), priority: "high" }] }),
      }),
    answer: "Done.",
    calls: 3,
    failing: "left",
    ends: { output: "Done." },
  },
  {
    name: "router",
    make: (w) => {
      const [left, right] = [workerOf(w, "left", "From the left."), workerOf(w, "right", "From the right.")];
      const model = modelOf(w, "lead", () => json({ route: "left", confidence: 0.9 }));
      return agent({ name: "lead", model, architecture: router({ routes: [left, right], fallback: right }) });
    },
    answer: "From the left.",
    calls: 2,
    failing: "left",
    ends: { output: "From the right." },
  },
  {
    name: "actor-critic",
    make: (w) => {
      const actor = workerOf(w, "actor", (prompt) =>
        say(prompt.includes("Improve") ? "Second [0.9]" : "First [0.5]"),
      );
      return agent({ name: "lead", architecture: actorCritic({ actor, critic: criticOf(w, "critic") }) });
    },
    answer: "Second [0.9]",
    calls: 4,
    failing: "actor",
    ends: { error: "no worker answered: actor: " },
  },
  {
    name: "debate",
    make: (w) => {
      const yes = workerOf(w, "optimist", "Yes.");
      const no = workerOf(w, "sceptic", (prompt) => say(prompt.includes("Answers so far") ? "Yes." : "No."));
      return agent({ name: "lead", architecture: debate({ debaters: [yes, no] }) });
    },
    answer: "Yes.",
    calls: 4,
    failing: "sceptic",
    ends: { output: "Yes." },
  },
  {
    name: "blackboard",
    make: (w) => {
      const expert = workerOf(w, "expert", "It is a valve.");
      const model = modelOf(w, "lead", (prompt) =>
        prompt.includes("valve")
          ? json({ done: true, expert: "", answer: "The valve." })
          : json({ done: false, expert: "expert", answer: "" }),
      );
      return agent({ name: "lead", model, architecture: blackboard({ experts: [expert], rounds: 2 }) });
    },
    answer: "The valve.",
    calls: 3,
    failing: "expert",
    ends: { error: "there is no answer yet: 2 contributions" },
  },
  {
    name: "swarm",
    make: (w) => {
      const first = agent({
        name: "first",
        model: modelOf(w, "first", () => call("handoff_to_second", { message: "a bill" })),
        handoffs: [handoff("second")],
      });
      const second = workerOf(w, "second", (prompt) =>
        say(`Paid ${prompt.includes("a bill") ? "a bill" : "nothing"}.`),
      );
      return agent({ name: "lead", architecture: swarm({ members: [first, second] }) });
    },
    answer: "Paid a bill.",
    calls: 2,
    failing: "second",
    ends: { error: "second did not answer: " },
  },
  {
    name: "plan-and-execute",
    make: (w) => {
      const worker = workerOf(w, "worker", (prompt) => say(prompt.includes("Results") ? "Built." : "Drawn."));
      const model = modelOf(w, "lead", (prompt) =>
        prompt.startsWith("Make a plan")
          ? json({
              steps: [
                { id: "draw", task: "Draw it.", worker: "worker", after: [] },
                { id: "build", task: "Build it.", worker: "worker", after: ["draw"] },
              ],
            })
          : say(`A house: ${prompt.includes("build: Built.") ? "built" : "not built"}.`),
      );
      return agent({ name: "lead", model, architecture: planAndExecute({ workers: [worker], replans: 1 }) });
    },
    answer: "A house: built.",
    calls: 4,
    failing: "worker",
    ends: { error: "there is no answer yet: 2 plans failed" },
  },
  {
    name: "reflexion",
    make: (w) => {
      const actor = workerOf(w, "actor", (prompt) =>
        say(prompt.includes("Lessons") ? "Second [0.9]" : "First [0.4]"),
      );
      const model = modelOf(w, "lead", () => say("Be bold."));
      const architecture = reflexion({ actor, evaluator: criticOf(w, "critic") });
      return agent({ name: "lead", model, architecture });
    },
    answer: "Second [0.9]",
    calls: 5,
    failing: "actor",
    ends: { error: "no worker answered: actor: " },
  },
  {
    name: "tree of thoughts",
    make: (w) => {
      const thinker = workerOf(w, "thinker", (prompt) => {
        const level = prompt.includes("So far") ? 2 : 1;
        const option = /option (\d)/.exec(prompt)?.[1];
        return say(`Thought ${level}.${option} [0.${level}${option}]`);
      });
      const architecture = treeOfThoughts({
        thinker,
        evaluator: criticOf(w, "critic"),
        branches: 2,
        beam: 1,
        depth: 2,
      });
      return agent({ name: "lead", architecture });
    },
    answer: "Thought 2.2 [0.22]",
    calls: 8,
    failing: "thinker",
    ends: { error: "no worker answered: thinker: " },
  },
];
