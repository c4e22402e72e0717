import type { StepFigures } from "#view";
import { segment } from "../api/http.ts";

/** The last part of a step's id, such as `model:6`. */
export const placeOf = (stepId: string): string => {
  const run = stepId.indexOf("~");
  return stepId.slice(stepId.indexOf(":", run) + 1);
};

/** The number of a run in its tree. */
export const runNumber = (runId: string): string => runId.slice(runId.lastIndexOf("~") + 1);

/** Returns the display name of a step: `model 6`, or the name of its tool. */
export function stepName({ kind, name, stepId }: Pick<StepFigures, "kind" | "name" | "stepId">): string {
  return kind === "tool" ? name : placeOf(stepId).replace(":", " ");
}

/** The address of a step below the page. */
export function stepPath({ runId, stepId }: Pick<StepFigures, "runId" | "stepId">): string {
  const tree = runId.slice(0, runId.lastIndexOf("~"));
  return `/runs/${segment(tree)}/${runNumber(runId)}/${segment(placeOf(stepId))}`;
}

/** Whether a step is a call of the agent's own loop: the call of a judge or of a tool is beside it. */
export const isOwnCall = ({ kind, stepId }: StepFigures): boolean =>
  kind === "model" && /^model:\d+$/.test(placeOf(stepId));
