import type { Architecture, AgentSpec } from "#kernel";
import { activeAgent, passControl } from "#agents";
import { byName, getAgentName } from "./roles.ts";

/** The members of a swarm. Each one states the members that it may hand the conversation to: `agent({ handoffs })`. */
export interface SwarmOptions {
  readonly members: readonly AgentSpec[];
  /** The member that begins. Default: the first; in a later turn of a conversation, the one that answered last. */
  readonly entry?: AgentSpec | undefined;
  /** Default 8. */
  readonly maxHandoffs?: number | undefined;
}

/**
 * Members hand the conversation to each other, and the leader has no model. The member that answers begins the next turn of
 * the conversation.
 */
export function swarm({ members, entry, maxHandoffs = 8 }: SwarmOptions): Architecture {
  const find = (name: string): AgentSpec | undefined =>
    members.find((member) => getAgentName(member) === name);
  return {
    name: "swarm",
    privateTools: activeAgent.tools,
    declaredWorkers: () => byName(members),
    async *run(state, { ctx }) {
      const isKept = ctx.session.goesOn();
      const first = (isKept ? find(await activeAgent.read(ctx)) : undefined) ?? entry ?? members[0];
      if (!first) return;
      const said = state.messages;
      const messages = await ctx.session.read((before) => [...before, ...said]);
      const path: string[] = [];
      const start = { to: getAgentName(first), messages, note: "", best: "" };
      const end = await passControl(ctx, start, { path, maxHandoffs });
      yield { path };
      if (end.kind === "answered") {
        state.output = end.output;
        if (isKept) await activeAgent.write(ctx, end.by);
        return;
      }
      state.output = end.best;
      state.interrupted = true;
      state.interruptionReason = end.reason;
    },
  };
}
