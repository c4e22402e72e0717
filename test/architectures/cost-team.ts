import { agent, ChatMessage, type Agent, type AgentSpec, type Model } from "reeve";
import type { Verdict } from "reeve/architectures";
import { say, type ScriptedAnswer } from "reeve/testing";
import { z } from "zod";

/** The numbers that the cost of a strategy depends on. */
export type Size = Readonly<Record<string, number>>;

/** Returns an answer to a prompt. `number` counts the calls of this model, from 1. A string is a text answer. */
export type Reply = (prompt: string, number: number) => ScriptedAnswer | string | Error;

/** Makes the agents of a strategy. Their models count their calls. */
export class Team {
  /** Model calls of the leader, and of its workers. */
  leader = 0;
  workers = 0;

  model(id: string, reply: Reply): Model {
    let number = 0;
    return {
      id,
      generate: async ({ messages }) => {
        number += 1;
        if (id === "lead") this.leader += 1;
        else this.workers += 1;
        const last = messages.findLast(({ role }) => role === "user");
        const answer = reply(last ? ChatMessage.text(last) : "", number);
        if (answer instanceof Error) throw answer;
        const { message, finishReason } = typeof answer === "string" ? say(answer) : answer;
        return { message, finishReason, usage: { input: 10, output: 5 } };
      },
    };
  }

  worker(name: string, reply: Reply = () => `${name} answers`): AgentSpec<string> {
    return agent({ name, model: this.model(name, reply) });
  }

  /** Makes several workers: w1, w2 and so on. */
  createWorkers(count: number): readonly AgentSpec<string>[] {
    return Array.from({ length: count }, (_, index) => this.worker(`w${index + 1}`));
  }

  /** Makes a judge that is content with the attempt that has this number. */
  critic(good: number): AgentSpec<Verdict> {
    const reply: Reply = (_, number) =>
      JSON.stringify({ score: number === good ? 1 : 0.1, feedback: "more" });
    const output = z.object({ score: z.number(), feedback: z.string() });
    return agent({ name: "critic", model: this.model("critic", reply), output });
  }
}

/** A way in which a strategy can go, with the model calls that it takes. */
export interface CostCase {
  /** The page that quotes it, without its ending. */
  readonly page: string;
  readonly when: string;
  /** The function of the architecture that makes the leader's model calls; null: the leader has no model. */
  readonly means: "react" | "think" | null;
  /** Formulas over the numbers of a size. */
  readonly leader: string;
  readonly workers: string;
  readonly sizes: readonly Size[];
  readonly make: (team: Team, size: Size) => Agent;
}
