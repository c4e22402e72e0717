import { Json, type RunId } from "#kernel";
import { Ledger } from "#ledger";
import type { ArgumentOf } from "../protocol.ts";
import { performEffects } from "../run-lifecycle.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { switchesType, type HeldArgument, type SwitchRef } from "../switches/switch-protocol.ts";

/** Returns the key of the switch that a run is held for. A pause or a resume by a person removes it. */
export const disabledKey = (run: RunId): string => `disabled/${run}`;

/**
 * Holds a run whose agent or tenant is disabled, until the switch is lifted. For a tenant, holds the whole tree.
 * Returns whether the run is held: not if it is about to end.
 */
export function holdDisabled(work: TreeWork, argument: ArgumentOf<"holdDisabled">): boolean {
  const { run, kind, name, object } = argument;
  if (!work.run(run)) return false;
  const target = kind === "tenant" ? work.root : run;
  work.loadBelow([target]);
  const known = work.run(target);
  // A run that a person holds, or that is held with its parent, is held already. It is checked again when it resumes.
  if (known && work.slot(target)?.held === false) {
    work.put(target, { ...known, pausedFor: `the ${kind} ${name} is disabled` });
    work.decide(target, (state) => Ledger.pause(state, { run: target, at: work.now }));
    const ref: SwitchRef = { kind, name, object };
    work.object.set(disabledKey(target), Json.of(ref));
    const held: HeldArgument = { kind, name, tree: work.object.key, run: target };
    work.object.send({ type: switchesType, key: object }, "held", Json.of(held));
    performEffects(work);
  }
  return work.slot(run)?.held === true;
}

/** Resumes a run that was held for a switch, unless a person has paused it since. */
export function releaseDisabled(work: TreeWork, argument: ArgumentOf<"releaseDisabled">): null {
  const { run, kind, name, object } = argument;
  const ref = Json.as<SwitchRef | null>(work.object.get(disabledKey(run)));
  if (ref?.kind !== kind || ref.name !== name || ref.object !== object) return null;
  work.object.clear(disabledKey(run));
  if (!work.run(run)) return null;
  work.loadBelow([run]);
  work.decide(run, (state) => Ledger.resume(state, { run, at: work.now }));
  // As for a resume by a person: there may be money for calls of the held run.
  work.isMoneyMoved = true;
  performEffects(work);
  return null;
}
