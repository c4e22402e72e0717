import { AgentId, CancellationError, NotFoundError, RunId, type Envelope } from "#kernel";
import { noteAsk } from "../asks.ts";
import { claimContent } from "../state/content.ts";
import { book } from "../reports.ts";
import { denialOf, spawnRun } from "../new-run.ts";
import { performEffects, whyStopped } from "../run-lifecycle.ts";
import { livePageKey } from "../state/live-runs.ts";
import type { SpawnArgument, ReplyOf } from "../protocol.ts";
import { remember, seenKey, mailName } from "../state/seen.ts";
import { checkSize, maxItemBytes } from "../state/size.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** Spawns a child for a run. */
export function spawnFor(work: TreeWork, argument: SpawnArgument): ReplyOf<"spawn"> {
  const { run: parent, agentId, text, data, files, messageId, asks } = argument;
  checkSize("a task", { text, data, files }, maxItemBytes(work.object));
  // Loaded together with the pages that list the new run: one round trip.
  const next = RunId.of(work.tree.treeId, work.tree.nextRun);
  work.object.prefetch([livePageKey(next), seenKey(mailName(agentId, messageId))]);
  book(work, argument);
  const parentRun = work.live(parent);
  const slot = work.slot(parent);
  const reason = slot ? whyStopped(slot, work.now) : null;
  if (reason !== null) return { error: new CancellationError({ reason }).toJSON() };
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: parent, agentId: parentRun.agentId },
    text: text ?? "",
    data,
    files,
    // The parent may ask for the reply later.
    askedBy: parent,
    ...(argument.labels && { labels: argument.labels }),
    at: work.now,
  };
  const terms = work.host.agents[AgentId.type(agentId)];
  if (!terms) return { error: new NotFoundError({ what: "agent", id: agentId }).toJSON() };
  const { run, admission } = spawnRun(work, {
    ...argument,
    parent,
    version: terms.version,
    priority: argument.priority ?? terms.priority,
    budget: argument.budget ?? terms.budget,
    retention: argument.retention ?? terms.retention,
    firstMessages: text === null ? [] : [envelope],
  });
  performEffects(work);
  if (admission.kind === "denied") return { error: denialOf(admission) };
  claimContent(work, files);
  if (text !== null) remember(work, mailName(agentId, messageId), run);
  if (asks) {
    noteAsk(work, { id: messageId, from: parent, to: run });
    work.emit(parent, "handoff.made", { to: agentId, toRun: run });
  }
  return { run };
}
