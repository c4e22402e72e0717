import { AgentId, ChatMessage, type Agent, type RunContext, type RunStatus } from "#kernel";
import type { RunHandle, StartOptions } from "#runtime";
import { effect, echo, type Witness } from "./doubles.ts";

/** An external client: starts a tree, and acts as users do. */
export interface Client {
  /** Any run of the scenario. */
  run(id: string): RunHandle;
  /** Starts the scenario's root, which is the first of its agents. */
  start(options?: StartOptions): Promise<RunHandle>;
  /** Repeats an external call until it is accepted, across crashes. */
  surely<T>(call: () => Promise<T>): Promise<T>;
  waitUntil(holds: () => Promise<boolean>): Promise<void>;
}

/** A tree to be disturbed: the answer, the books and the effects must not depend on it. */
export interface Scenario {
  readonly name: string;
  agents(witness: Witness): readonly [Agent, ...Agent[]];
  drive(client: Client): Promise<RunHandle>;
}

/** Makes one model call. */
export const say = async (ctx: RunContext, text: string): Promise<string> =>
  ChatMessage.text((await ctx.llm([ChatMessage.user(text)])).message);

/** Makes agents of one team, who have a model, a tool that is idempotent and one that is run again. */
export const staff = (witness: Witness, team: string) => {
  const model = echo(witness);
  const tools = [
    effect(witness, "pay", { idempotent: true }),
    effect(witness, "mail", { onUnknown: "rerun" }),
  ];
  return (name: string, run: Agent["run"], rest: Partial<Agent> = {}): Agent => ({
    id: AgentId.of(`${team}.${name}`),
    run,
    model,
    tools,
    ...rest,
  });
};

/** Whether a run has this status. False if it does not exist yet. */
export const hasStatus = (run: RunHandle, status: RunStatus): Promise<boolean> =>
  run.status().then(
    (now) => now === status,
    () => false,
  );
