import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { allAgents, fromEvents, type TreeView, why } from "#view";
import { segment } from "../api/http.ts";
import { useDecide } from "../api/decide.ts";
import type { ApprovalRecord } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { dayTime } from "../parts/amounts.ts";
import { sentence } from "../parts/sentence.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useSettled } from "../parts/use-settled.ts";

/** The oldest question of a tree in one sentence, and the action for it. Renders nothing if there is none. */
export function WhyBanner({
  tree,
  pending,
  now,
}: {
  readonly tree: TreeView;
  readonly pending: readonly ApprovalRecord[];
  readonly now: number;
}): ReactNode {
  const [, go] = useLocation();
  const [record] = pending;
  const decide = useDecide();
  const lock = useLock("approve");
  const isSettled = useSettled(record?.id ?? "");
  const answer = (verb: "approve" | "deny"): void => {
    if (record && lock === null && isSettled()) void decide(record, { verb });
  };
  const look = (): void => {
    if (record) go(`/approvals/${segment(record.id)}`);
  };
  const needsAnswer = record?.asks ?? false;
  useKeys({ ...(!needsAnswer && { a: () => answer("approve") }), d: () => answer("deny"), o: look });
  const agent = record && [...allAgents(tree.root)].find(({ runId }) => runId === record.runId);
  if (!record || !agent) return null;
  return (
    <section className="why" aria-label="Needs you">
      <Icon name="warning" size={16} />
      <div>
        <b>
          <InertText text={sentence(why({ ...fromEvents(agent), pending: [] }, now).answer)} />
        </b>{" "}
        <InertText text={sentence(record.why)} />{" "}
        <span className="muted">Without a decision it is denied on {dayTime(record.expiresAt)}.</span>
        {pending.length > 1 && <span className="muted"> {pending.length - 1} more.</span>}
      </div>
      <div className="acts">
        <Button label={needsAnswer ? "Answer" : "Look"} hint="O" size="small" onPress={look} />
        <Button label="Deny" hint="D" size="small" locked={lock} onPress={() => answer("deny")} />
        {!needsAnswer && (
          <Button
            label="Approve"
            hint="A"
            size="small"
            tone="primary"
            locked={lock}
            onPress={() => answer("approve")}
          />
        )}
      </div>
    </section>
  );
}
