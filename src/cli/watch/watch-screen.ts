import { Text, useInput, useWindowSize, type Key } from "ink";
import { createElement, type ReactElement, useEffect, useState } from "react";
import type { Paint } from "../text/paint.ts";
import type { WatchKey } from "./watch-keys.ts";
import type { Watcher } from "./watcher.ts";

/** What the screen is made of. */
export interface WatchScreenProps {
  readonly watcher: Watcher;
  readonly paint: Paint;
  readonly now: () => number;
  /** Of a screen that has no terminal. */
  readonly size?: { readonly columns: number; readonly rows: number };
}

const frameMs = 100;

/** The watched tree on a terminal. The lines come ready from pure functions; ink draws what changed, and reads keys. */
export function WatchScreen({ watcher, paint, now, size }: WatchScreenProps): ReactElement {
  const { columns, rows } = { ...useWindowSize(), ...size };
  const [, draw] = useState(0);
  useEffect(() => {
    const again = (): void => draw((frame) => frame + 1);
    const timer = setInterval(again, frameMs);
    const unsubscribe = watcher.subscribe(again);
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }, [watcher]);
  useInput((input, key) => {
    // What was typed fast comes at once.
    const name = nameOf(key);
    for (const letter of name === null ? input : [""]) watcher.press({ input: letter, name }, rows);
  });
  const lines = watcher.lines({ width: columns, height: rows, paint, now: now() });
  return createElement(Text, { wrap: "truncate-end" }, lines.join("\n"));
}

function nameOf(key: Key): WatchKey["name"] {
  if (key.upArrow) return "up";
  if (key.downArrow) return "down";
  if (key.pageUp) return "pageUp";
  if (key.pageDown) return "pageDown";
  if (key.return) return "return";
  if (key.escape) return "escape";
  return key.backspace || key.delete ? "backspace" : null;
}
