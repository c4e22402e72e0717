import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TreeModel } from "../../src/view/index.ts";
import { HubTree, type SentMark } from "../../ui/live/hub-tree.ts";
import { TreeFeed } from "../../ui/live/tree-feed.ts";
import { Story } from "../cli/story.ts";

/** A lead with children that call models and end, in an order that numbers decide. */
function storyOf(moves: readonly number[]): Story {
  const story = new Story().starts(0, "lead");
  let children = 0;
  for (const [index, move] of moves.entries()) {
    story.advance(10);
    if (move % 4 === 0)
      story.starts((children += 1), `worker/${children}`, { parent: move % Math.max(1, children) });
    else if (move % 4 === 1) story.asks(move % (children + 1), `c${index}`, {});
    else if (move % 4 === 2) story.asks(move % (children + 1), `c${index}`, { cost: 500 });
    else story.tell(move % (children + 1), "tool.start", { tool: "search", callId: `t${index}` });
  }
  return story;
}

const viewOf = (feed: TreeFeed): unknown => (feed.state.kind === "ready" ? feed.state.view : feed.state);

test("a tab that gets only the rows that changed shows the whole tree, however often it is sent some", () => {
  const moves = fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(moves, fc.nat({ max: 40 }), fc.nat({ max: 9 }), (given, opened, pause) => {
      const { events, treeId } = storyOf(given);
      const from = Math.min(opened, events.length);
      const hub = new HubTree();
      hub.show(TreeModel.of(events.slice(0, Math.max(1, from))).snapshot());
      const feed = new TreeFeed(() => false);
      let mark: SentMark | undefined;
      const send = (): void => {
        const found = hub.takeChanges(mark);
        if (!found) return;
        mark = found.mark;
        feed.take(structuredClone(found.update));
      };
      send();
      for (const [index, event] of events.entries()) {
        expect(hub.apply([event])).toBe(true);
        if (index % (pause + 1) === 0) send();
      }
      send();
      expect(viewOf(feed)).toEqual(TreeModel.of(events).view);
      expect(treeId).toBe(events[0]?.treeId);
    }),
    { numRuns: 200 },
  );
});

test("an event sends its own row and its ancestors' rows, and no other row becomes a new view", () => {
  const story = new Story().starts(0, "lead");
  for (let child = 1; child <= 200; child += 1) story.starts(child, `worker/${child}`, { parent: 0 });
  const hub = new HubTree();
  hub.show(TreeModel.of(story.events).snapshot());
  const feed = new TreeFeed(() => false);
  const first = hub.takeChanges();
  if (!first) throw new Error("there is a tree");
  expect(first.update.rows).toHaveLength(201);
  feed.take(first.update);
  const before = feed.state.kind === "ready" ? feed.state.view.root.children : [];
  const known = story.events.length;
  story.asks(7, "c1", { cost: 500 });
  hub.apply(story.events.slice(known));
  const next = hub.takeChanges(first.mark);
  expect(next?.update.rows.map(({ runId }) => runId)).toEqual([story.run(0), story.run(7)]);
  expect(next?.update.events).toHaveLength(4);
  if (next) feed.take(next.update);
  const after = feed.state.kind === "ready" ? feed.state.view.root.children : [];
  expect(after.filter((view, index) => view !== before[index])).toEqual([after[6]]);
  expect(hub.takeChanges(next?.mark)).toBeNull();
});

test("a gap in the events is detected, and events that arrive before the view are applied after it", () => {
  const { events } = storyOf([0, 2, 0, 2, 2]);
  const hub = new HubTree();
  expect(hub.apply(events.slice(3))).toBe(true);
  hub.show(TreeModel.of(events.slice(0, 5)).snapshot());
  expect(hub.seq).toBe(events.length);
  const holed = new HubTree();
  holed.show(TreeModel.of(events.slice(0, 3)).snapshot());
  expect(holed.apply(events.slice(5))).toBe(false);
  expect(holed.seq).toBe(3);
});

test("a frozen view does not change, and updates when it is released", () => {
  const { events } = storyOf([0, 2, 2, 2]);
  let isHeld = false;
  const feed = new TreeFeed(() => isHeld);
  const hub = new HubTree();
  hub.show(TreeModel.of(events.slice(0, 3)).snapshot());
  const first = hub.takeChanges();
  if (first) feed.take(first.update);
  const shown = feed.state;
  isHeld = true;
  hub.apply(events);
  const next = hub.takeChanges(first?.mark);
  if (next) feed.take(next.update);
  expect(feed.state).toBe(shown);
  expect(feed.seq).toBe(events.length);
  feed.show();
  expect(viewOf(feed)).toEqual(TreeModel.of(events).view);
});
