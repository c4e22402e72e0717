import { AttemptId, StepId } from "reeve/store";
import { expect, test } from "vitest";
import { TreeModel } from "../../src/view/index.ts";
import { Speech } from "../../src/cli/live/speech.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { lastRow, widthOf } from "../../src/cli/text/width.ts";
import { spokenTree } from "../../src/cli/views/live-row.ts";
import { Story } from "./story.ts";
import { cpuMs } from "../cpu-time.ts";

/** Feeds live text of a run of a story. */
function teller(story: Story, speech: Speech) {
  const piece = (run: number, attempt: string, kind: "text" | "reasoning" | "reset", text: string): void => {
    const runId = story.run(run);
    speech.applyDelta({
      runId,
      step: StepId.of(runId, "step", 1),
      attempt: AttemptId.of(attempt),
      kind,
      text,
    });
  };
  return {
    begins: (run: number, attempt: string) => piece(run, attempt, "reset", ""),
    says: (run: number, attempt: string, text: string) => piece(run, attempt, "text", text),
    thinks: (run: number, attempt: string, text: string) => piece(run, attempt, "reasoning", text),
  };
}

/** A parent with two children, each in a model call. */
function talk(): Story {
  const story = new Story().starts(0, "lead").asks(0, "a", {});
  story.starts(1, "researcher", { parent: 0 }).asks(1, "b", {});
  return story.starts(2, "writer", { parent: 0 }).asks(2, "c", {});
}

function linesOfTree(story: Story, speech: Speech, { width = 80, room = 20 } = {}): readonly string[] {
  const { root } = TreeModel.of(story.events);
  if (!root) throw new Error("no root");
  const caps = { tree: null, runs: new Map() };
  return spokenTree(root, { caps, speech, room }, { width, paint: plainPaint, now: story.now });
}

const quotes = (lines: readonly string[]): readonly string[] => lines.filter((line) => line.includes("“"));

test.each([80, 140])("live text shows below its run, at %i columns", (width) => {
  const [story, speech] = [talk(), new Speech()];
  const { begins, says } = teller(story, speech);
  for (const [run, attempt] of [["a"], ["b"], ["c"]].entries()) begins(run, attempt[0] ?? "");
  says(0, "a", "Let us see.\nThe researcher is asked who built the pump, and the writer ");
  says(1, "b", "市場の記録を読む。".repeat(12));
  says(
    2,
    "c",
    "Dear team,\n\nthe pump was built in 1987 by the vendor Ada, as the archive says, which is why we write\n",
  );
  const lines = linesOfTree(story, speech, { width });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines).toMatchSnapshot();
});

test("a restarted answer replaces the previous one, and ignores its late pieces", () => {
  const [story, speech] = [talk(), new Speech()];
  const { begins, says, thinks } = teller(story, speech);
  begins(1, "b");
  says(1, "b", "It was bui");
  expect(quotes(linesOfTree(story, speech))).toEqual(["│   “It was bui"]);
  begins(1, "b2");
  says(1, "b", "lt by");
  thinks(1, "b2", "who built it?");
  expect(quotes(linesOfTree(story, speech))).toEqual([]);
  says(1, "b2", "Ada");
  expect(quotes(linesOfTree(story, speech))).toEqual(["│   “Ada"]);
});

test("the live text is removed once the answer is complete", () => {
  const [story, speech] = [talk(), new Speech()];
  const { begins, says } = teller(story, speech);
  begins(1, "b");
  says(1, "b", "Ada");
  story.answers(1, "b", 5_000);
  for (const event of story.events) speech.see(event);
  says(1, "b", "!");
  expect(speech.row(story.run(1), 80)).toBeNull();
});

test("without space for live text, every run is still shown", () => {
  const [story, speech] = [talk(), new Speech()];
  const { begins, says } = teller(story, speech);
  for (const [run, attempt] of [
    [0, "a"],
    [1, "b"],
    [2, "c"],
  ] as const) {
    begins(run, attempt);
    says(run, attempt, "so");
  }
  expect(linesOfTree(story, speech, { room: 5 })).toHaveLength(5);
  expect(quotes(linesOfTree(story, speech, { room: 2 }))).toEqual([]);
});

test("a row does not depend on the chunks of its text, and advances word by word", () => {
  const text = "the pump was built in 1987 by the vendor Ada";
  for (let size = 1; size < 12; size += 1) {
    const speech = new Speech();
    const story = talk();
    const { begins, says } = teller(story, speech);
    begins(0, "a");
    const rows = new Set<string>();
    for (let at = 0; at < text.length; at += size) {
      says(0, "a", text.slice(at, at + size));
      rows.add(speech.row(story.run(0), 20) ?? "");
    }
    expect(speech.row(story.run(0), 20)).toBe("vendor Ada");
    for (const row of rows) expect(row.length).toBeLessThanOrEqual(20);
  }
});

test("text cannot move the cursor or colour the screen", () => {
  expect(lastRow("one\n\u001B[2Jtwo\tthree", 80)).toBe("[2Jtwo  three");
});

/** Returns the CPU time of showing an answer that comes in so many pieces. */
function speechCost(pieces: number): number {
  const [story, speech] = [talk(), new Speech()];
  const { begins, says } = teller(story, speech);
  begins(0, "a");
  return cpuMs(() => {
    for (let n = 0; n < pieces; n += 1) {
      says(0, "a", "word ");
      speech.row(story.run(0), 80);
    }
  });
}

test("a long answer is not read again for each of its pieces", () => {
  speechCost(4_000);
  // Ten times the pieces; if all of them were read each time, a hundred times the work.
  expect(speechCost(40_000)).toBeLessThan(30 * Math.max(speechCost(4_000), 5));
});
