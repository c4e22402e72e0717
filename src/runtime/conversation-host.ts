import { randomUUID } from "node:crypto";
import type { Agent, Engine, Input } from "#kernel";
import type { Deltas } from "#deltas";
import { callTree, treeAddress, type CompactionOrder } from "#tree";
import type { ConversationDeps } from "./conversation.ts";
import { agentOfHead } from "./conversations.ts";
import type { RuntimeExtensions } from "./extension-host.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StartOptions } from "./start-options.ts";

/** The parts of a runtime that its conversations need. */
interface HostParts extends Pick<ConversationDeps, "clock" | "closed" | "erase"> {
  readonly runtime: Pick<ConversationDeps, "store" | "turn" | "whileIdle" | "reload">;
  readonly engine: Engine;
  readonly deltas: Deltas;
  readonly extensions: RuntimeExtensions;
  readonly agentOf: (type: string) => Agent;
  start<Output>(
    agent: Agent<Output>,
    input: Input,
    options: StartOptions,
    compaction?: CompactionOrder,
  ): Promise<RunHandle<Output>>;
}

/** Returns what conversations need of a runtime. @throws TypeError without a store. */
export function conversationHost(parts: HostParts): ConversationDeps {
  const { runtime, engine, clock, closed, deltas, extensions, agentOf } = parts;
  return {
    store: runtime.store,
    clock,
    uuid: () => randomUUID(),
    closed,
    start: (agent, input, options) => parts.start(agent, input, options),
    compact: (agent, order, options) => {
      const input = order.instructions ?? "Compact this conversation.";
      return parts.start(agent, input, { ...options, retention: "permanent" }, order);
    },
    isCompacting: (id, { tenant }) => {
      const tree = treeAddress(id, tenant);
      return callTree((method, given) => engine.call(tree, method, given), "compacting", null);
    },
    turn: (...given) => runtime.turn(...given),
    whileIdle: (...given) => runtime.whileIdle(...given),
    erase: (...given) => parts.erase(...given),
    deltas: (tree, { tenant }, over) => deltas.watch(treeAddress(tree, tenant).key, over),
    reload: (agent) => runtime.reload(agent),
    beforeMove: (...given) => extensions.beforeMove(...given),
    agentOf: (head) => agentOfHead(head, agentOf),
  };
}
