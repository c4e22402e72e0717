import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { segment } from "../../api/http.ts";
import { useKeys } from "../../parts/use-keys.ts";

/** Rows that are shown at first, and with each press of the button. */
const rowsAtOnce = 500;

/** A list that the keyboard walks: J and K or the arrows choose a row, Enter opens it, Backspace goes up to the tree. */
export function useRowList(
  tree: string,
  size: number,
  open: (index: number) => void,
): {
  readonly at: number;
  readonly choose: (index: number) => void;
  readonly shown: number;
  readonly showMore: () => void;
} {
  const [, go] = useLocation();
  const [at, setAt] = useState(0);
  const [shown, setShown] = useState(rowsAtOnce);
  const opened = useRef(open);
  opened.current = open;
  const last = Math.max(0, Math.min(size, shown) - 1);
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(last, at + by));
    setAt(next);
    document.querySelector(`[data-row="${next}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => {
      if (size > 0) opened.current(Math.min(at, last));
    },
    Backspace: () => go(`/runs/${segment(tree)}`),
  });
  return { at: Math.min(at, last), choose: setAt, shown, showMore: () => setShown(shown + rowsAtOnce) };
}
