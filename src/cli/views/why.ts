import type { Activity, RunView } from "../tree/run-view.ts";
import { duration, moment } from "../text/amounts.ts";
import { clean, wrap } from "../text/width.ts";
import { errorName, named } from "./activity-text.ts";
import { type Known, lostText, type Why } from "./known.ts";
import type { Screen } from "./screen.ts";
import { whyEnded } from "./why-ended.ts";

/** In words, from what is known. */
export function why(known: Known, now: number): Why {
  const { run } = known;
  return run.end ? whyEnded(known, run.end) : whyAlive(known, now);
}

/** As lines for people. */
export function whyLines(
  { answer, details, hints }: Why,
  { width, paint }: Pick<Screen, "width" | "paint">,
): readonly string[] {
  const indented = (text: string): readonly string[] => wrap(text, width - 2).map((line) => `  ${line}`);
  return [
    ...wrap(answer, width).map((line) => paint("strong", line)),
    ...details.flatMap(indented),
    ...hints.flatMap((hint) => paint("faint", `  → ${hint}`)),
  ];
}

function whyAlive(known: Known, now: number): Why {
  const { run, status } = known;
  const { activity } = run;
  // The tree knows of a hold at once; a run that is in the middle of a call says so only when it yields.
  if (status === "paused" && activity.kind !== "paused")
    return {
      answer: `${run.agent} is to pause: it stops at its next step.`,
      details: [],
      hints: [resume(run)],
    };
  const lost = run.lostCalls === 0 ? [] : [lostText(run.lostCalls)];
  const told = ofActivity(known, activity, now);
  return { ...told, details: [...told.details, ...lost] };
}

const resume = ({ runId }: RunView): string => `reeve resume ${runId}`;

function ofActivity(known: Known, activity: Activity, now: number): Why {
  const { run } = known;
  const name = run.agent;
  const since = duration(now - activity.since);
  switch (activity.kind) {
    case "starting":
      return {
        answer: `${name} was accepted ${since} ago and has not begun: no worker has taken it up.`,
        details: [
          "A worker that has another version of the agent leaves it alone and logs incompatible-version.",
        ],
        hints: ["reeve dev"],
      };
    case "queued":
      return queued(known, activity, since);
    case "paused":
      return paused(known, activity, since);
    case "approval":
      return waitsForPerson(known, activity, now);
    case "helpers":
      return waitsForHelpers(known, activity.agents, { since, now });
    case "retry":
      return {
        answer: `${name} tries its model again in ${duration(activity.delayMs - (now - activity.since))}: ${clean(errorName(activity.error))}.`,
        details: activity.error.message ? [clean(activity.error.message)] : [],
        hints: [],
      };
    case "model":
      return {
        answer: `${name} does not wait for anybody: it has been asking ${clean(activity.model)} for ${since}.`,
        details: isLong(now - activity.since)
          ? ["If its worker has died, another one takes over; the call then stays in doubt."]
          : [],
        hints: [],
      };
    case "tool":
      return {
        answer: `${name} does not wait for anybody: it has been calling ${named(activity.tools)} for ${since}.`,
        details: activity.progress === null ? [] : [clean(activity.progress)],
        hints: [],
      };
    case "cancelling":
      return {
        answer: `${name} is being stopped (${clean(activity.reason)}) since ${since}: its call in flight may end first.`,
        details: [],
        hints: [],
      };
    case "between":
      return { answer: `${name} is between two steps, for ${since}.`, details: [], hints: [] };
    case "ended":
      return { answer: `${name} has ended.`, details: [], hints: [] };
  }
}

function queued({ run, ledger }: Known, activity: Activity & { kind: "queued" }, since: string): Why {
  const slots = ledger
    ? `${ledger.tree.liveAgents} of ${ledger.tree.maxAgents} agents are alive`
    : "all are taken";
  const victim = activity.victim
    ? [`${activity.victim} is to give up its slot for it, and does so at its next step.`]
    : [];
  return {
    answer: `${run.agent} has been queued for a slot for ${since}: ${slots}.`,
    details: [...victim, `Its priority is ${run.priority}; the highest and oldest goes first.`],
    hints: [`reeve reprioritize ${run.runId} high`],
  };
}

function paused({ run }: Known, activity: Activity & { kind: "paused" }, since: string): Why {
  if (activity.cause === "held")
    return {
      answer: `Somebody paused ${run.agent} ${since} ago. It waits until it is resumed.`,
      details: [],
      hints: [resume(run)],
    };
  const taker = activity.by ? `${activity.by} took its slot` : "a more important run took its slot";
  return {
    answer: `${run.agent} was preempted ${since} ago: ${taker}. It goes on when a slot is free.`,
    details: [`Its priority is ${run.priority}; its work is kept.`],
    hints: [`reeve reprioritize ${run.runId} high`],
  };
}

function waitsForPerson(
  { run, pending }: Known,
  activity: Activity & { kind: "approval" },
  now: number,
): Why {
  const record = pending.find(({ id }) => id === activity.id);
  const asked = `${run.agent} has waited ${duration(now - activity.since)} for somebody's word on ${clean(activity.tool)}.`;
  const details = [`${clean(activity.why)}.`];
  if (record) {
    details.push(`With ${clean(JSON.stringify(record.arguments))}.`);
    details.push(`Unless somebody decides, it is refused on ${moment(record.expiresAt)}.`);
  }
  const hints = [`reeve approve ${activity.id}`, `reeve deny ${activity.id}`];
  return { answer: asked, details, hints };
}

/** So many helpers are named. */
const most = 5;

/** What holds up a boss is what holds up its helpers. */
function waitsForHelpers(
  known: Known,
  agents: readonly string[],
  { since, now }: { readonly since: string; readonly now: number },
): Why {
  const { run } = known;
  const alive = run.helpers.filter(({ end }) => end === null);
  const causes = alive
    .slice(0, most)
    .map((helper) => why({ ...known, run: helper, boss: run, status: helper.status }, now));
  const more = alive.length > most ? [`and ${alive.length - most} more`] : [];
  return {
    answer: `${run.agent} has waited ${since} for ${named(agents)}.`,
    details: [...causes.flatMap(({ answer, details }) => [answer].concat(details)), ...more],
    hints: [...new Set(causes.flatMap(({ hints }) => hints))].slice(0, most),
  };
}

const isLong = (ms: number): boolean => ms > 60_000;
