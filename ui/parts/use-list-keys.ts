import { useRef } from "react";
import { useKeys } from "./use-keys.ts";

/** Moves the focus through the links of a list with J and K, and back with the backspace key. Returns the list's ref. */
export function useListKeys(onBack?: () => void): React.RefObject<HTMLDivElement | null> {
  const list = useRef<HTMLDivElement>(null);
  const move = (step: number): void => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("[data-item]") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    const next = at === -1 ? (step > 0 ? 0 : links.length - 1) : at + step;
    links[Math.max(0, Math.min(links.length - 1, next))]?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ...(onBack && { Backspace: onBack }),
  });
  return list;
}
