import { dollars } from "../parts/amounts.ts";
import { notify } from "../parts/toast.tsx";
import { errorText, post, segment } from "./http.ts";
import type { CancelReceipt } from "./records.ts";

/** A new operation id. A repeated request has the same, so it counts once. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Creates the id of a new tree. */
export const newTreeId = newId;

/** Sends an action to a run and reports the outcome. Returns whether it was accepted. */
async function act(
  run: string,
  action: {
    readonly name: string;
    readonly body: object;
    readonly describe: (answer: CancelReceipt) => string;
    readonly undo?: () => void;
  },
): Promise<boolean> {
  try {
    const answer = await post<CancelReceipt>(`/runs/${segment(run)}/${action.name}`, action.body);
    notify(action.describe(answer), action.undo);
    return true;
  } catch (error) {
    notify(errorText(error));
    return false;
  }
}

/** The actions of a reader on a run. Each is accepted or refused at once; the state changes with the event. */
export const runActions = {
  pause: (run: string, name: string): Promise<boolean> =>
    act(run, {
      name: "pause",
      body: { id: newId() },
      describe: () => `${name}: pausing (stops before its next step)`,
      undo: () => void runActions.resume(run, name),
    }),
  resume: (run: string, name: string): Promise<boolean> =>
    act(run, { name: "resume", body: { id: newId() }, describe: () => `${name}: resumed` }),
  steer: (run: string, text: string): Promise<boolean> =>
    act(run, {
      name: "steer",
      body: { text, id: newId() },
      describe: () => "Steered: read before the next model call",
    }),
  followUp: (run: string, text: string): Promise<boolean> =>
    act(run, {
      name: "follow-up",
      body: { text, id: newId() },
      describe: () => "Queued: read when the agent would stop",
    }),
  topUp: (run: string, maxCostUsd: number): Promise<boolean> =>
    act(run, {
      name: "top-up",
      body: { maxCostUsd, id: newId() },
      describe: () => `Topped up by $${maxCostUsd.toFixed(2)}. A top-up cannot be undone.`,
    }),
  cancel: (run: string, reason: string): Promise<boolean> =>
    act(run, {
      name: "cancel",
      body: reason === "" ? {} : { reason },
      describe: receiptText,
    }),
};

/** A cancel's receipt: the runs that ended, the time it took, the money booked after it. */
function receiptText({ runs }: CancelReceipt): string {
  const took = Math.max(0, ...runs.map(({ tookMs }) => tookMs));
  const after = runs.reduce((sum, { spentAfter }) => sum + spentAfter, 0);
  const what = runs.length === 1 ? "1 run" : `${runs.length} runs`;
  return `Cancelled ${what} in ${(took / 1000).toFixed(1)} s, ${dollars(after)} booked after it`;
}
