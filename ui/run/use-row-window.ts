import { type RefObject, useEffect, useState } from "react";

/** The heights of a row and of the header, which stays at the top. */
const rowPx = 32;
const headerPx = 30;
/** Rows beyond each edge, and the step in which the window moves: it does not change with every pixel. */
const beyond = 8;

/** The rows that are in view, or near to it. */
export interface RowWindow {
  readonly from: number;
  readonly to: number;
}

function windowOf(scrollTop: number, height: number): RowWindow {
  const first = Math.floor(scrollTop / rowPx / beyond) * beyond;
  return { from: first - beyond, to: first + Math.ceil(height / rowPx) + 2 * beyond };
}

/** Returns the distance of a row from the top of the first one. */
export const topOf = (index: number): string => `${index * rowPx}px`;

/** Tracks which rows of a scrolled list are in view: only these exist, however long the list is. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>): RowWindow {
  const [rows, setRows] = useState(() => windowOf(0, window.innerHeight));
  useEffect(() => {
    const { current } = scroller;
    if (!current) return;
    const measure = (): void => {
      const next = windowOf(current.scrollTop, current.clientHeight);
      setRows((known) => (known.from === next.from && known.to === next.to ? known : next));
    };
    const resized = new ResizeObserver(measure);
    resized.observe(current);
    current.addEventListener("scroll", measure, { passive: true });
    return () => {
      resized.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, [scroller]);
  return rows;
}

/** Scrolls as little as needed until a row is in view. */
export function scrollToRow(scroller: HTMLElement, index: number): void {
  const top = index * rowPx;
  const lowest = top + rowPx + headerPx - scroller.clientHeight;
  if (scroller.scrollTop > top) scroller.scrollTop = top;
  else if (scroller.scrollTop < lowest) scroller.scrollTop = lowest;
}
