import type { Page } from "playwright-core";

/** One message of the hub to a tab. */
interface TappedMessage {
  readonly at: number;
  readonly rows: number;
  readonly isWhole: boolean;
  readonly seq: number;
  /** Runs of its events, if known. */
  readonly runs: readonly string[];
  readonly events: number;
}

/** Figures of a tab since it was opened. */
export interface Tap {
  /** Times of all messages, also of those without rows. */
  readonly received: readonly number[];
  readonly messages: readonly TappedMessage[];
  /** Times of frames, while they are metered. */
  readonly frames: readonly number[];
  /** Milliseconds from a key to the paint after it, and frames until the selection had moved. */
  readonly keys: readonly number[];
  readonly keyFrames: readonly number[];
  readonly longTasks: readonly number[];
  /** Milliseconds from a click to the paint of the tree that it opened. */
  readonly opened: readonly number[];
}

/** Counts the messages and paints of a tab. It runs before the page, and does not change it. */
export const tapScript = `(() => {
  const tap = { received: [], messages: [], frames: [], keys: [], keyFrames: [], longTasks: [], opened: [] };
  window.tap = tap;
  const Native = window.SharedWorker;
  if (Native) window.SharedWorker = function SharedWorker(address, options) {
    const worker = new Native(address, options);
    worker.port.addEventListener("message", ({ data }) => {
      tap.received.push(performance.now());
      for (const tree of data.trees) if (tree.rows) tap.messages.push({
        at: performance.now(), rows: tree.rows.length, isWhole: tree.isWhole, seq: tree.seq,
        runs: [...new Set(tree.events.map(({ runId }) => runId))], events: tree.events.length,
      });
    });
    return worker;
  };
  let isMetered = false;
  const frame = (at) => {
    tap.frames.push(at);
    if (isMetered) requestAnimationFrame(frame);
  };
  window.meterFrames = (wanted) => {
    if (wanted && !isMetered) requestAnimationFrame(frame);
    isMetered = wanted;
  };
  addEventListener("keydown", ({ timeStamp }) => {
    const selected = () => document.querySelector('[role="row"][aria-selected="true"]');
    const before = selected();
    let frames = 0;
    const look = () => {
      frames += 1;
      if (selected() === before && frames < 100) return requestAnimationFrame(look);
      tap.keyFrames.push(frames);
      setTimeout(() => tap.keys.push(performance.now() - timeStamp));
    };
    requestAnimationFrame(look);
  }, true);
  addEventListener("click", ({ timeStamp }) => {
    const look = () => {
      if (!document.querySelector('[role="treegrid"]')) return requestAnimationFrame(look);
      setTimeout(() => tap.opened.push(performance.now() - timeStamp));
    };
    requestAnimationFrame(look);
  }, true);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tap.longTasks.push(duration);
  }).observe({ type: "longtask" });
})();`;

/**
 * Presses keys, each after the page has painted the one before. Otherwise several reach the page before it can paint
 * once, which no hand does, and the time of a key would include those after it.
 */
export async function pressKeys(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const painted = await page.evaluate<number>("window.tap.keys.length");
    await page.keyboard.press(key);
    // The policy of the page allows no evaluation by its own timers.
    await page.evaluate(`new Promise((resolve) => {
      const look = () => window.tap.keys.length > ${painted} ? resolve() : setTimeout(look, 4);
      look();
    })`);
  }
}

/** Meters frames, or stops. Metering costs some 15 ms of the main thread in a second: it asks for 60 frames. */
export const meterFrames = (page: Page, isWanted: boolean): Promise<void> =>
  page.evaluate(`window.meterFrames(${isWanted})`);

/** Reads the figures, and begins new ones. */
export const takeTap = (page: Page): Promise<Tap> =>
  page.evaluate<Tap>(`(() => {
    const taken = JSON.parse(JSON.stringify(window.tap));
    for (const list of Object.values(window.tap)) list.length = 0;
    return taken;
  })()`);

/** The value below which a share of the values is. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** The times between frames. */
export const gapsOf = (frames: readonly number[]): readonly number[] =>
  frames.slice(1).map((at, index) => at - (frames[index] ?? at));
