import type { AttemptId, ModelDelta } from "#kernel";
import { type AnswerPlace, longestPiece, Pieces, type RunDelta, type ToolUpdate } from "./run-delta.ts";

/** Whoever is told of pieces. Must not throw. */
type Receiver = (delta: RunDelta) => void;

/** Where the pieces of one answer go while it is given. */
export interface AnswerFeed {
  readonly take: (delta: ModelDelta) => void;
  /** It is given, or failed: nobody who comes later will hear of it. */
  readonly end: () => void;
}

/** Where the progress of one tool call goes while it is made. */
export interface UpdateFeed {
  /** Whether anything is told: whether a reader is there, or may come. */
  readonly isOpen: boolean;
  readonly take: (update: ToolUpdate) => void;
  /** The call is over: readers that come later are not told of it. */
  readonly end: () => void;
}

/** How much of an open answer is kept for those who come late: of a longer one they hear the rest only. */
const longestKept = 256_000;

interface Tree {
  readonly receivers: Set<Receiver>;
  /** What has come of the open answers; null where it became too much. */
  readonly answers: Map<AttemptId, Pieces | null>;
  /** The newest progress of the open tool calls. */
  readonly updates: Map<AttemptId, RunDelta>;
}

/** Carries the pieces of the answers that this process's models give to those who watch, each tree by its key. */
export class DeltaHub {
  readonly #trees = new Map<string, Tree>();
  /** May somebody come while an answer is given? Then every model is asked to stream. */
  isOpen = false;

  /** Begins an answer. Undefined while nobody watches, nor can. */
  begin(key: string, place: AnswerPlace): AnswerFeed | undefined {
    if (!this.isOpen && !this.#trees.has(key)) return undefined;
    const tree = this.#tree(key);
    tree.answers.set(place.attempt, new Pieces());
    tell(tree, { ...place, kind: "reset", text: "" });
    return {
      take: ({ kind, text }) => {
        // What an attempt says after it was given up is no part of any answer.
        if (!tree.answers.has(place.attempt)) return;
        for (let start = 0; start < text.length; start += longestPiece)
          tell(tree, { ...place, kind, text: text.slice(start, start + longestPiece) });
      },
      end: () => {
        tree.answers.delete(place.attempt);
        this.#forget(key, tree);
      },
    };
  }

  /** Begins a tool call. Its first update may come long after a reader: the feed itself says whether it is open. */
  beginUpdates(key: string, place: AnswerPlace): UpdateFeed {
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

  /** The open answers as far as they have come, each from its reset on, and the progress of the open tool calls. */
  soFar(key: string): readonly RunDelta[] {
    const tree = this.#trees.get(key);
    if (!tree) return [];
    const answers = [...tree.answers.values()];
    const pieces = answers.flatMap((answer) => answer?.all.map((piece) => ({ ...piece })) ?? []);
    return [...pieces, ...tree.updates.values()];
  }

  /** Every piece from now on. Returns how to stop. */
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

function tell({ receivers, answers }: Tree, delta: RunDelta): void {
  const pieces = answers.get(delta.attempt);
  pieces?.add(delta);
  if (pieces && pieces.size > longestKept) answers.set(delta.attempt, null);
  for (const receiver of receivers) receiver(delta);
}
