import type { ReactNode } from "react";
import { type AgentView, allAgents, fromEvents, type TreeView, why } from "#view";
import { useLock } from "../api/session.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { sentence } from "../parts/sentence.ts";

/** Returns an agent whose next call does not fit into its budget. A call in flight may still make room. */
export function agentWithoutMoney(tree: TreeView): AgentView | undefined {
  if (tree.root.reservedMicros > 0) return undefined;
  return [...allAgents(tree.root)].find(({ activity }) => activity.kind === "budget");
}

/** Explains a tree that waits for money, with the action for it. Renders nothing if no call waits. */
export function MoneyBanner({
  tree,
  now,
  onTopUp,
}: {
  readonly tree: TreeView;
  readonly now: number;
  readonly onTopUp: (agent: AgentView) => void;
}): ReactNode {
  const lock = useLock("admin");
  const agent = agentWithoutMoney(tree);
  if (!agent) return null;
  const { answer, details } = why(fromEvents(agent), now);
  return (
    <section className="why" aria-label="Needs money">
      <Icon name="warning" size={16} />
      <div>
        <b>
          <InertText text={sentence(answer)} />
        </b>{" "}
        <InertText text={details.map(sentence).join(" ")} />
      </div>
      <div className="acts">
        <Button label="Top up" size="small" tone="primary" locked={lock} onPress={() => onTopUp(agent)} />
      </div>
    </section>
  );
}
