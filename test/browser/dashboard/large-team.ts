import { type Agent, agent, ChatMessage, type Model, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const price = { input: 1_000_000, output: 4_000_000 };

/** A lead with many researchers, whose model calls are answered as fast as the test allows. */
export interface LargeTeam {
  readonly agents: readonly Agent[];
  readonly lead: Agent;
  /** Calls that wait for an answer. */
  readonly waiting: number;
  /** Answers the calls that have waited longest: each time with a call of a tool. */
  answer(calls: number): void;
  /** Lets every researcher end, now and from now on. */
  finish(): void;
}

const task = (n: number) => ["ask_researcher", { task: `Topic ${n}` }] as const;

/** Creates the team. Nothing is answered until the test allows it. */
export function largeTeam(size: number): LargeTeam {
  const waiting: (() => void)[] = [];
  let isOver = false;
  const model: Model = {
    id: "patient-model",
    price,
    generate: async () => {
      if (!isOver) await new Promise<void>((resolve) => waiting.push(resolve));
      const usage = { input: 200, output: 40 };
      if (isOver) return { message: ChatMessage.assistant("Done."), usage, finishReason: "stop" };
      return { ...call("note", { text: "a fact" }), usage };
    },
  };
  const note = tool({
    name: "note",
    description: "Keeps a fact",
    input: z.object({ text: z.string() }),
    risk: "safe",
    idempotent: true,
    execute: () => "kept",
  });
  const researcher = agent({
    name: "researcher",
    description: "Finds facts",
    model,
    tools: [note],
    budget: { maxTurns: 10_000 },
  });
  const more = Array.from({ length: size - 1 }, (_, n) => task(n + 1));
  const lead = agent({
    name: "lead",
    description: "Leads a team",
    model: scriptedModel([call(...task(0), ...more), say("The report is done.")], { price }),
    team: [researcher],
  });
  return {
    agents: [lead, researcher],
    lead,
    get waiting() {
      return waiting.length;
    },
    answer: (calls) => {
      for (const resolve of waiting.splice(0, calls)) resolve();
    },
    finish: () => {
      isOver = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
