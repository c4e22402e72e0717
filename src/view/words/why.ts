import { RunId, type RunStatus } from "#kernel";
import type { Activity, AgentView } from "../agent-view.ts";
import { formatCounted, duration, moment } from "./amounts.ts";
import { clean } from "./clean.ts";
import { errorName, joinNames } from "./activity-text.ts";
import { argumentTexts } from "./argument-texts.ts";
import { asides } from "./asides.ts";
import { type RunFacts, lostText, type Why } from "./run-facts.ts";
import { amountOf } from "./limit-text.ts";
import { topUpCommand } from "./remedies.ts";
import { whyEnded } from "./why-ended.ts";
import { whyStuck } from "./why-stuck.ts";

/** Explains a run from its known facts. */
export function why(known: RunFacts, now: number): Why {
  const { run } = known;
  return run.end ? whyEnded(known, run.end) : whyAlive(known, now);
}

function whyAlive(known: RunFacts, now: number): Why {
  const { run, facts } = known;
  const { status, blocker } = facts.get(run.runId) ?? { status: run.status, blocker: null };
  if (blocker) return whyStuck(run, blocker, now);
  const told = explainStatus(known, status, now);
  const lost = run.lostCalls === 0 ? [] : [lostText(run.lostCalls)];
  return { ...told, details: [...told.details, ...asides(run), ...lost] };
}

/** The tree knows a hold or a wait at once; events report it later, or not at all. */
function explainStatus(known: RunFacts, status: RunStatus, now: number): Why {
  const { run } = known;
  const { activity } = run;
  if (status === "paused" && activity.kind !== "paused")
    return {
      answer: `${run.agent}: pausing (stops before its next step)`,
      details: [],
      hints: [toResumeCommand(run)],
    };
  if (status === "waiting" && activity.kind === "between") return waitsForWorld(run, now);
  return explainActivity(known, activity, now);
}

const toResumeCommand = ({ runId }: AgentView): string => `reeve resume ${runId}`;
const toWatchCommand = ({ runId }: AgentView): string => `reeve watch ${RunId.tree(runId)}`;

function explainActivity(known: RunFacts, activity: Activity, now: number): Why {
  const { run } = known;
  const name = run.agent;
  const since = duration(now - activity.since);
  const hints = [toWatchCommand(run)];
  switch (activity.kind) {
    case "starting":
      return {
        answer: `${name}: accepted ${since} ago, not started: no worker has taken it`,
        details: [],
        hints: ["reeve dev"],
      };
    case "queued":
      return explainQueued(known, activity, since);
    case "paused":
      return explainPaused(known, activity, since);
    case "approval":
      return waitsForPerson(known, activity, now);
    case "children":
      return waitsForChildren(known, activity.agents, { since, now });
    case "retry":
      return {
        answer: `${name}: retrying its model call in ${duration(activity.delayMs - (now - activity.since))} after ${clean(errorName(activity.error))}`,
        details: activity.error.message ? [clean(activity.error.message)] : [],
        hints,
      };
    case "budget":
      return {
        answer: `${name}: waiting ${since} for budget: ${budgetText(activity)}`,
        details: [],
        hints: activity.inFlight === 0 ? [topUpCommand(run, activity)] : hints,
      };
    case "model":
      return {
        answer: `${name}: not blocked, calling ${clean(activity.model)} for ${since}`,
        details: isLong(now - activity.since)
          ? ["If its worker has died, another worker takes over, and the call stays in doubt."]
          : [],
        hints,
      };
    case "tool":
      return {
        answer: `${name}: not blocked, running ${joinNames(activity.tools)} for ${since}`,
        details: activity.progress === null ? [] : [clean(activity.progress)],
        hints,
      };
    case "cancelling":
      return {
        answer: `${name}: stopping for ${since} (${clean(activity.reason)}); its call in flight may end first`,
        details: [],
        hints,
      };
    case "between":
      return { answer: `${name}: between two steps for ${since}`, details: [], hints };
    case "ended":
      return { answer: `${name}: ended`, details: [], hints: [] };
  }
}

/** Returns why a call waits for budget that other calls have reserved. */
function budgetText({ inFlight, reserved, limit, dimension }: Activity & { kind: "budget" }): string {
  const most = amountOf(dimension, limit);
  if (inFlight === 0) return `the limit of ${most} has no room for this call, so it needs a top-up`;
  const verb = inFlight === 1 ? "holds" : "hold";
  return `${formatCounted(inFlight, "call")} in flight ${verb} ${amountOf(dimension, reserved)} of ${most}`;
}

/** Explains a run whose code waits for something outside the tree. */
function waitsForWorld({ agent, runId, activity }: AgentView, now: number): Why {
  return {
    answer: `${agent}: waiting ${duration(now - activity.since)} for a signal, a message or a time`,
    details: ["Its code calls ctx.waitFor(name), ctx.sleepUntil(time), or reads its inbox."],
    hints: [`reeve signal ${runId} <name> '<json>'`],
  };
}

function explainQueued(
  { run, ledger }: RunFacts,
  activity: Activity & { kind: "queued" },
  since: string,
): Why {
  const slots = ledger
    ? `${ledger.tree.liveAgents} of ${ledger.tree.maxAgents} agents are alive`
    : "all slots are taken";
  const victim = activity.victim
    ? [`${activity.victim} will give up its slot for it before its next step.`]
    : [];
  return {
    answer: `${run.agent}: queued ${since} for a slot: ${slots}`,
    details: [
      ...victim,
      `Its priority is ${run.priority}. The highest priority goes first, then the oldest run.`,
    ],
    hints: [`reeve reprioritize ${run.runId} high`],
  };
}

function explainPaused(
  { run, parent }: RunFacts,
  activity: Activity & { kind: "paused" },
  since: string,
): Why {
  if (activity.cause === "held") return explainHeld(run, parent, { ...activity, since });
  const taker = activity.by ? `${activity.by} took its slot` : "a run of higher priority took its slot";
  return {
    answer: `${run.agent}: preempted ${since} ago: ${taker}; continues when a slot is free`,
    details: [`Its priority is ${run.priority}. Its work is kept.`],
    hints: [`reeve reprioritize ${run.runId} high`],
  };
}

function explainHeld(
  run: AgentView,
  parent: AgentView | null,
  { reason, since }: { readonly reason: string | null; readonly since: string },
): Why {
  if (reason !== null)
    return {
      answer: `${run.agent}: paused by its tree ${since} ago: ${clean(reason)}`,
      details: [
        "Its workers died repeatedly in that step: see their logs. Resume the run to retry the step.",
      ],
      hints: [toResumeCommand(run)],
    };
  const isParents = parent?.activity.kind === "paused" && parent.activity.cause === "held";
  return {
    answer: `${run.agent}: paused by a person ${since} ago${isParents ? ` with its parent ${parent.agent}` : ""}; waits until it is resumed`,
    details: [],
    hints: [toResumeCommand(isParents ? parent : run)],
  };
}

function waitsForPerson(
  { run, pending }: RunFacts,
  activity: Activity & { kind: "approval" },
  now: number,
): Why {
  const record = pending.find(({ id }) => id === activity.id);
  const asked = `${run.agent}: waiting ${duration(now - activity.since)} for ${record?.asks ? "an answer to" : "approval of"} ${clean(activity.tool)}`;
  const details = [`${clean(activity.why)}.`];
  if (record) {
    details.push(...argumentTexts(record));
    details.push(`Without a decision it is denied on ${moment(record.expiresAt)}.`);
  }
  const yes = record?.asks ? "answer" : "approve";
  const hints = [`reeve ${yes} ${activity.id}`, `reeve deny ${activity.id}`];
  return { answer: asked, details, hints };
}

/** The most children that are named. */
const most = 5;

/** Explains a parent by what blocks its children. */
function waitsForChildren(
  known: RunFacts,
  agents: readonly string[],
  { since, now }: { readonly since: string; readonly now: number },
): Why {
  const { run } = known;
  const alive = run.children.filter(({ end }) => end === null);
  const causes = alive.slice(0, most).map((child) => why({ ...known, run: child, parent: run }, now));
  const more = alive.length > most ? [`and ${alive.length - most} more`] : [];
  return {
    answer: `${run.agent}: waiting ${since} for ${joinNames(agents)}`,
    details: [...causes.flatMap(({ answer, details }) => [answer].concat(details)), ...more],
    hints: [...new Set(causes.flatMap(({ hints }) => hints))].slice(0, most),
  };
}

const isLong = (ms: number): boolean => ms > 60_000;
