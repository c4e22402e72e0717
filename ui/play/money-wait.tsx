import type { ReactNode } from "react";
import { fromEvents, type TreeView, why } from "#view";
import { useLock } from "../api/session.tsx";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { agentWithoutMoney } from "../run/money-banner.tsx";
import { useNow } from "../parts/use-now.ts";

/** Explains a tree whose next call does not fit into its budget, with a remedy. Renders nothing if no call waits. */
export function MoneyWait({
  tree,
  onTopUp,
}: {
  readonly tree: TreeView;
  readonly onTopUp: () => void;
}): ReactNode {
  const now = useNow();
  const lock = useLock("admin");
  const agent = agentWithoutMoney(tree);
  if (!agent) return null;
  const { answer, details } = why(fromEvents(agent), now);
  return (
    <div className="qn" role="status">
      <header>
        <StatusMark status="needs you" markOnly />
        <b>
          <InertText text={answer} />
        </b>
      </header>
      <p className="sub qn-why">
        <InertText text={details.join(" ")} />
      </p>
      <footer>
        <Button label="Top up" hint="T" size="small" tone="primary" locked={lock} onPress={onTopUp} />
      </footer>
    </div>
  );
}
