import type { ApprovalId, ApprovalRecord } from "#kernel";
import { type AgentView, allAgents } from "#view";
import { treeRows } from "../views/tree-lines.ts";
import type { Prompt, WatchState } from "./watch-state.ts";

/** A key press. */
export interface WatchKey {
  readonly input: string;
  readonly name: KeyName | null;
}

type KeyName = "up" | "down" | "pageUp" | "pageDown" | "return" | "escape" | "backspace" | "interrupt";

/** Escape sequences of keys that are not letters. */
const named: Readonly<Record<string, KeyName>> = {
  "\u001B[A": "up",
  "\u001BOA": "up",
  "\u001B[B": "down",
  "\u001BOB": "down",
  "\u001B[5~": "pageUp",
  "\u001B[6~": "pageDown",
  "\r": "return",
  "\n": "return",
  "\u001B": "escape",
  "\u007F": "backspace",
  "\b": "backspace",
  "\u0003": "interrupt",
};

// oxlint-disable-next-line no-control-regex -- keys are told by them
const sequence = /\u001B(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[^]/gu;

/** Parses keys from typed text. Unknown sequences become keys without effect. */
export function keysIn(typed: string): readonly WatchKey[] {
  return (typed.match(sequence) ?? []).map((sent) => {
    const name = named[sent] ?? null;
    return { input: name === null && !sent.startsWith("\u001B") ? sent : "", name };
  });
}

/** An action outside the screen that a key requests. */
export type WatchOrder =
  | { readonly kind: "leave" }
  | { readonly kind: "pause" | "resume" | "cancel"; readonly run: AgentView["runId"] }
  | { readonly kind: "top-up"; readonly run: AgentView["runId"]; readonly dollars: number }
  | { readonly kind: "review" | "deny"; readonly approval: ApprovalId }
  | { readonly kind: "approve"; readonly record: ApprovalRecord };

/** The result of a key press. */
export interface KeyResult {
  readonly state: WatchState;
  readonly order: WatchOrder | null;
}

/** The selected run among all runs. */
interface Choice {
  readonly run: AgentView;
  readonly all: readonly AgentView[];
}

/** Applies a key to the screen state and returns the requested action. */
export function press(
  state: WatchState,
  key: WatchKey,
  { root, pageRows }: { readonly root: AgentView | null; readonly pageRows: number },
): KeyResult {
  const quiet = { ...state, note: null };
  if (key.name === "interrupt") return { state: quiet, order: { kind: "leave" } };
  if (state.prompt) return answerPrompt(quiet, state.prompt, key);
  // Escape does not leave: on a slow connection, escape sequences may arrive in pieces.
  if (key.input === "q") return { state: quiet, order: { kind: "leave" } };
  if (!root) return { state: quiet, order: null };
  const step = stepOf(key, pageRows);
  if (step !== 0) return { state: moveSelection(quiet, root, step), order: null };
  const all = [...allAgents(root)];
  const run = all.find(({ runId }) => runId === state.selected) ?? root;
  return act(quiet, key.input, { run, all });
}

function stepOf({ input, name }: WatchKey, pageRows: number): number {
  if (name === "up" || input === "k") return -1;
  if (name === "down" || input === "j") return 1;
  if (name === "pageUp") return -pageRows;
  return name === "pageDown" ? pageRows : 0;
}

function moveSelection(state: WatchState, root: AgentView, step: number): WatchState {
  const rows = treeRows(root);
  const now = Math.max(
    0,
    rows.findIndex(({ run }) => run.runId === state.selected),
  );
  const next = Math.min(rows.length - 1, Math.max(0, now + step));
  return { ...state, selected: rows[next]?.run.runId ?? null, top: Math.max(0, state.top) };
}

function act(state: WatchState, input: string, choice: Choice): KeyResult {
  const { runId } = choice.run;
  switch (input) {
    case "p":
      return { state, order: { kind: "pause", run: runId } };
    case "r":
      return { state, order: { kind: "resume", run: runId } };
    case "c":
      return { state: { ...state, prompt: { kind: "cancel", run: runId } }, order: null };
    case "t":
      return { state: { ...state, prompt: { kind: "top-up", run: runId, text: "" } }, order: null };
    case "a":
      return decideSelected(state, "review", choice);
    case "d":
      return decideSelected(state, "deny", choice);
    default:
      return { state, order: null };
  }
}

/** The question of the selected run; where it has none, the only one there is. */
function decideSelected(state: WatchState, kind: "review" | "deny", { run, all }: Choice): KeyResult {
  const asking = all.flatMap(({ activity }) => (activity.kind === "approval" ? [activity.id] : []));
  const own = run.activity.kind === "approval" ? run.activity.id : null;
  const approval = own ?? (asking.length === 1 ? asking[0] : undefined);
  if (approval !== undefined) return { state, order: { kind, approval } };
  const note =
    asking.length === 0
      ? "nothing waits for approval"
      : `${asking.length} calls wait for approval: select one`;
  return { state: { ...state, note }, order: null };
}

function answerPrompt(state: WatchState, prompt: Prompt, { input, name }: WatchKey): KeyResult {
  const closed = { ...state, prompt: null };
  if (name === "escape") return { state: closed, order: null };
  if (prompt.kind === "cancel")
    return { state: closed, order: input === "y" ? { kind: "cancel", run: prompt.run } : null };
  if (prompt.kind === "approve")
    return { state: closed, order: input === "y" ? { kind: "approve", record: prompt.record } : null };
  if (name === "return") {
    const dollars = Number(prompt.text);
    return { state: closed, order: dollars > 0 ? { kind: "top-up", run: prompt.run, dollars } : null };
  }
  const text =
    name === "backspace" ? prompt.text.slice(0, -1) : prompt.text + input.replaceAll(/[^\d.]/g, "");
  return { state: { ...state, prompt: { ...prompt, text } }, order: null };
}
