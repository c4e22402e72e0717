import { type ReactNode, useState } from "react";
import { exactUsd, spendOf, type TreeView } from "#view";
import { useLock } from "../api/session.tsx";
import { useServerStatus } from "../live/connection.ts";
import { Button } from "../parts/button.tsx";
import { causeFault } from "./faults.ts";

/** More work than the budget allows. The agents of a new project understand it. */
const moreWork = "Check everything again, each part by a reviewer of its own.";

/** The money of a tree when its worker was killed. */
interface KilledAt {
  readonly at: number;
  readonly tree: string;
  readonly settledMicros: number;
  readonly inDoubtMicros: number;
}

/** Faults that the reader causes, to see that the tree survives them. Only `reeve dev` offers them. */
export function BreakIt({
  tree,
  onSteer,
}: {
  readonly tree: TreeView | null;
  readonly onSteer: (text: string) => void;
}): ReactNode {
  const lock = useLock("admin");
  const [killed, setKilled] = useState<KilledAt | null>(null);
  const isLive = tree !== null && tree.root.end === null;
  const idle = isLive ? null : "Start a task first";
  const kill = async (): Promise<void> => {
    if (!tree) return;
    const { settledMicros, inDoubtMicros } = spendOf(tree.root, tree);
    if (await causeFault("kill-worker"))
      setKilled({ at: Date.now(), tree: tree.treeId, settledMicros, inDoubtMicros });
  };
  return (
    <section className="sec break-it">
      <h2>Try to break it</h2>
      <div className="tree-acts">
        <Button
          label="Kill its worker"
          size="small"
          tone="danger"
          locked={lock ?? idle}
          onPress={() => void kill()}
        />
        <Button
          label="Inject a prompt through a page"
          size="small"
          locked={lock}
          onPress={() => void causeFault("injection")}
        />
        <Button
          label="Exceed its budget"
          size="small"
          locked={lock ?? idle}
          onPress={() => onSteer(moreWork)}
        />
        <Button label="Answer slowly" size="small" locked={lock} onPress={() => void causeFault("slow")} />
      </div>
      {killed && tree?.treeId === killed.tree ? (
        <KillReceipt key={killed.at} before={killed} tree={tree} />
      ) : (
        <p className="sub">
          Only in <code>reeve dev</code>. Finished work is neither repeated nor paid for again: watch the
          cost.
        </p>
      )}
    </section>
  );
}

/**
 * Cost before a kill beside the current cost. Settled cost remains. Calls in flight are in doubt, at their ceilings.
 */
function KillReceipt({ before, tree }: { readonly before: KilledAt; readonly tree: TreeView }): ReactNode {
  const isLost = useServerStatus().lostSince !== null;
  /** The last event before the worker died: a later one comes from another worker. */
  const [lastSeq, setLastSeq] = useState<number | null>(null);
  if (isLost && lastSeq === null) setLastSeq(tree.seq);
  const hasContinued = lastSeq !== null && tree.seq > lastSeq;
  const now = spendOf(tree.root, tree);
  return (
    <dl className="kill-receipt" aria-label="Cost before and after the kill">
      <dt>{hasContinued ? "It continues" : "Its worker was killed"}</dt>
      <dd>{hasContinued ? "after its last finished step" : "the tree waits for another one"}</dd>
      <dt>Settled before</dt>
      <dd>{exactUsd(before.settledMicros)}, kept</dd>
      <dt>In doubt since</dt>
      <dd>{exactUsd(now.inDoubtMicros - before.inDoubtMicros)}, for calls that were in flight</dd>
      <dt>Settled now</dt>
      <dd>{exactUsd(now.settledMicros)}</dd>
    </dl>
  );
}
