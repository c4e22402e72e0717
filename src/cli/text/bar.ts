import { spendLevel, type Tone } from "#view";
import type { Paint } from "./paint.ts";

/** The amounts of a limit bar. */
export interface BarAmounts {
  readonly spent: number;
  readonly reserved: number;
  readonly cap: number;
}

const tones = { normal: "good", high: "waiting", full: "bad" } as const satisfies Record<string, Tone>;

/** Draws `███▒▒░░░`: spent, reserved, free. Any amount above zero is visible; only a used-up limit fills the bar. */
export function bar({ spent, reserved, cap }: BarAmounts, width: number, paint: Paint): string {
  const cells = (amount: number): number => {
    if (amount <= 0) return 0;
    if (amount >= cap) return width;
    return Math.min(width - 1, Math.max(1, Math.floor((amount / cap) * width)));
  };
  const used = cells(spent);
  const taken = Math.max(used, cells(spent + reserved));
  const tone = tones[spendLevel(spent, cap)];
  return (
    paint(tone, "█".repeat(used)) +
    paint("waiting", "▒".repeat(taken - used)) +
    paint("faint", "░".repeat(width - taken))
  );
}
