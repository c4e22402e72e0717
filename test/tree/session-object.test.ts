import { Json, SessionBusyError, type ObjectMethod } from "#kernel";
import { claimAddress, sessionObject } from "#tree";
import { expect, test } from "vitest";
import { LazyObject } from "./lazy-object.ts";

/** A conversation's object whose time the test sets. */
class SessionStage {
  readonly object = new LazyObject('-/~[null,"talk"]');

  constructor() {
    // Every tree opens.
    this.object.answer = () => Json.of({ existing: false });
  }

  call(name: string, argument: unknown = null): Json {
    const method: ObjectMethod | undefined = sessionObject.methods[name] ?? sessionObject.queries[name];
    if (!method) throw new Error(`no method ${name}`);
    return this.object.call(method, argument).result;
  }

  claim(id: string): void {
    this.call("claim", { claim: claimAddress(id), session: "talk" });
  }

  start(id: string, onBusy: "refuse" | "queue" = "refuse"): void {
    const open = { treeId: id, scope: { sessionId: "talk" } };
    this.call("invoke", { tree: treeOf(id), open, onBusy });
  }

  /** The messages since the last call: the method, and whom it is for or about. */
  takeSent(): readonly string[] {
    return this.object.sent.splice(0).map(({ to, method, argument }) => {
      const { tree } = Json.as<{ readonly tree?: { readonly key: string } }>(argument);
      return `${method} ${tree?.key ?? to.key}`;
    });
  }
}

const treeOf = (id: string) => ({ type: "tree", key: `-/${id}` });

test("a claim is hidden, makes one turn wait, and gives it the conversation when it is released", () => {
  const stage = new SessionStage();
  stage.claim("c");
  expect(stage.call("turn")).toBeNull();
  stage.start("one");
  expect(stage.call("turn")).toBeNull();
  // The claim is released in time, even if its process is gone.
  expect(stage.takeSent()).toEqual(["release c"]);
  stage.object.answer = () => null;
  expect(() => stage.start("two")).toThrow(SessionBusyError);
  stage.object.answer = () => Json.of({ existing: false });
  stage.start("three", "queue");
  stage.call("release", { tree: claimAddress("c"), at: 5 });
  expect(stage.takeSent()).toEqual(["startTurn -/one"]);
  expect(stage.call("turn")).toEqual(treeOf("one"));
  // The late release of the claim changes nothing.
  stage.call("release", { tree: claimAddress("c"), at: 5 });
  expect(stage.takeSent()).toEqual([]);
  stage.call("release", { tree: treeOf("one"), at: 6 });
  expect(stage.takeSent()).toEqual(["startTurn -/three"]);
});

test("a conversation in a turn cannot be claimed, and of two claims one is refused", () => {
  const stage = new SessionStage();
  stage.start("one");
  expect(() => stage.claim("c")).toThrow(SessionBusyError);
  stage.call("release", { tree: treeOf("one"), at: 2 });
  stage.claim("c");
  // A repeated call, whose answer was lost.
  stage.claim("c");
  expect(() => stage.claim("d")).toThrow(SessionBusyError);
  stage.call("release", { tree: claimAddress("c"), at: 3 });
  expect(stage.object.keys("session")).toEqual([]);
});

test("a claim of a process that is gone ends after a minute", () => {
  const stage = new SessionStage();
  stage.claim("gone");
  stage.object.time += 59_999;
  expect(() => stage.claim("d")).toThrow(SessionBusyError);
  stage.object.time += 1;
  stage.claim("d");
  stage.object.time += 60_000;
  stage.start("one");
  expect(stage.call("turn")).toEqual(treeOf("one"));
});
