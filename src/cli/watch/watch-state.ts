import type { ApprovalRecord, RunId } from "#kernel";

/** A confirmation that the user is asked for. */
export type Prompt =
  | { readonly kind: "cancel"; readonly run: RunId }
  | { readonly kind: "approve"; readonly record: ApprovalRecord }
  | { readonly kind: "top-up"; readonly run: RunId; readonly text: string };

/** State of the screen; the tree itself is kept elsewhere. */
export interface WatchState {
  readonly selected: RunId | null;
  /** The first row that is drawn. */
  readonly top: number;
  readonly prompt: Prompt | null;
  /** Result of the last key. */
  readonly note: string | null;
  readonly isLost: boolean;
}

/** The initial state. */
export const atFirst: WatchState = { selected: null, top: 0, prompt: null, note: null, isLost: false };

/** Moves the first row as little as possible so that the selected one is drawn. */
export function scrollTo(
  top: number,
  selected: number,
  rows: { readonly all: number; readonly shown: number },
): number {
  const last = Math.max(0, rows.all - rows.shown);
  return Math.min(last, Math.max(selected - rows.shown + 1, Math.min(top, selected)));
}
