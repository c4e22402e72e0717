import type { AttemptId, ModelDelta } from "#kernel";
import { type AnswerRef, longestPiece, Pieces, type RunDelta, type ToolUpdate } from "./run-delta.ts";

/** Receives pieces. Must not throw. */
type Receiver = (delta: RunDelta) => void;

/** The feed of one answer. */
export interface AnswerFeed {
  readonly take: (delta: ModelDelta) => void;
  /** Ends the answer, given or failed. Later subscribers do not get it. */
  readonly end: () => void;
}

/** The feed of one tool call's progress. */
export interface UpdateFeed {
  /** Whether a subscriber exists, or may come. */
  readonly isOpen: boolean;
  readonly take: (update: ToolUpdate) => void;
  /** Ends the call. Later subscribers do not get it. */
  readonly end: () => void;
}

/**
 * Maximum characters of an open answer that are kept for late subscribers. Of a longer one they get only later pieces.
 */
const longestKept = 256_000;

interface Tree {
  readonly receivers: Set<Receiver>;
  /** The pieces of the open answers. Null if there were too many. */
  readonly answers: Map<AttemptId, Pieces | null>;
  /** The newest progress of the open tool calls. */
  readonly updates: Map<AttemptId, RunDelta>;
}

/** Distributes the pieces of this process's answers to subscribers, by the key of the tree. */
export class DeltaHub {
  readonly #trees = new Map<string, Tree>();
  /** Whether subscribers from other processes may come. If so, every model is asked to stream. */
  isOpen = false;

  /** Begins an answer. Undefined if no subscriber exists or can come. */
  begin(key: string, place: AnswerRef): AnswerFeed | undefined {
    if (!this.isOpen && !this.#trees.has(key)) return undefined;
    const tree = this.#tree(key);
    tree.answers.set(place.attempt, new Pieces());
    publishDelta(tree, { ...place, kind: "reset", text: "" });
    return {
      take: ({ kind, text }) => {
        // Text of an attempt that was given up is not part of any answer.
        if (!tree.answers.has(place.attempt)) return;
        for (let start = 0; start < text.length; start += longestPiece)
          publishDelta(tree, { ...place, kind, text: text.slice(start, start + longestPiece) });
      },
      end: () => {
        tree.answers.delete(place.attempt);
        this.#forget(key, tree);
      },
    };
  }

  /**
   * Begins a tool call. Its first update may come long after a subscriber, so the feed itself tells whether it is open.
   */
  beginUpdates(key: string, place: AnswerRef): UpdateFeed {
    const isOpen = (): boolean => this.isOpen || this.#trees.has(key);
    return {
      get isOpen() {
        return isOpen();
      },
      take: (update) => {
        if (!isOpen()) return;
        const tree = this.#tree(key);
        const delta: RunDelta = { ...place, kind: "tool-update", text: "", update };
        tree.updates.set(place.attempt, delta);
        for (const receiver of tree.receivers) receiver(delta);
      },
      end: () => {
        const tree = this.#trees.get(key);
        if (tree?.updates.delete(place.attempt)) this.#forget(key, tree);
      },
    };
  }

  /** Returns the pieces of open answers so far, each from its reset on, and the progress of open tool calls. */
  soFar(key: string): readonly RunDelta[] {
    const tree = this.#trees.get(key);
    if (!tree) return [];
    const answers = [...tree.answers.values()];
    const pieces = answers.flatMap((answer) => answer?.all.map((piece) => ({ ...piece })) ?? []);
    return [...pieces, ...tree.updates.values()];
  }

  /** Subscribes to every piece from now on. Returns a function that unsubscribes. */
  watch(key: string, receiver: Receiver): () => void {
    const tree = this.#tree(key);
    tree.receivers.add(receiver);
    return () => {
      tree.receivers.delete(receiver);
      this.#forget(key, tree);
    };
  }

  #tree(key: string): Tree {
    const known = this.#trees.get(key);
    if (known) return known;
    const tree: Tree = { receivers: new Set(), answers: new Map(), updates: new Map() };
    this.#trees.set(key, tree);
    return tree;
  }

  #forget(key: string, { receivers, answers, updates }: Tree): void {
    if (receivers.size + answers.size + updates.size === 0) this.#trees.delete(key);
  }
}

function publishDelta({ receivers, answers }: Tree, delta: RunDelta): void {
  const pieces = answers.get(delta.attempt);
  pieces?.add(delta);
  if (pieces && pieces.size > longestKept) answers.set(delta.attempt, null);
  for (const receiver of receivers) receiver(delta);
}
