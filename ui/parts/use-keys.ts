import { useEffect, useRef } from "react";

/** Actions by key: `a`, `A` with shift, `Enter`, `g r` in sequence. */
export type KeyMap = Readonly<Record<string, () => void>>;

const setting = "reeve.keys";

/** Whether single keys act: letters, digits and signs. A reader who dictates switches them off (WCAG 2.1.4). */
export const letterKeys = {
  get on(): boolean {
    return localStorage.getItem(setting) !== "off";
  },
  set(on: boolean): void {
    localStorage.setItem(setting, on ? "on" : "off");
  },
};

/** Time between the two keys of a pair. */
const pairMs = 900;
interface PressedKey {
  readonly key: string;
  readonly at: number;
}
/** The key that is pressed now, and the one before it. */
let latest: PressedKey | null = null;
let first: PressedKey | null = null;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Whether the focused element acts on this key by itself. */
function isTaken(event: KeyboardEvent): boolean {
  const { target, key } = event;
  return key === "Enter" && target instanceof HTMLElement && ["BUTTON", "A"].includes(target.tagName);
}

/** The first key of every pair. The key after it never acts alone: `G A` opens approvals, and approves nothing. */
const prefix = "g";

function actionFor(keys: KeyMap, key: string): (() => void) | undefined {
  const isPair = first?.key === prefix && Date.now() - first.at < pairMs;
  return keys[isPair ? `${prefix} ${key}` : key];
}

/** Runs the action of a key, outside text fields and dialogs. Later maps take precedence. */
export function useKeys(keys: KeyMap): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
      if (isTyping(event.target) || isTaken(event)) return;
      if (event.key.length === 1 && !letterKeys.on) return;
      const act = actionFor(current.current, event.key);
      if (!act) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function remember({ key, target }: KeyboardEvent): void {
  first = latest;
  latest = isTyping(target) ? null : { key, at: Date.now() };
}

/** Remembers the first key of a pair. Installed once, before the listeners that run actions. */
export function listenForPairs(): void {
  window.addEventListener("keydown", remember, { capture: true });
}
