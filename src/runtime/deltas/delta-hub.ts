import type { AttemptId, ModelDelta } from "#kernel";
import { type AnswerPlace, longestPiece, Pieces, type RunDelta } from "./run-delta.ts";

/** Whoever is told of pieces. Must not throw. */
type Receiver = (delta: RunDelta) => void;

/** Where the pieces of one answer go while it is given. */
export interface AnswerFeed {
  readonly take: (delta: ModelDelta) => void;
  /** It is given, or failed: nobody who comes later will hear of it. */
  readonly end: () => void;
}

/** How much of an open answer is kept for those who come late: of a longer one they hear the rest only. */
const longestKept = 256_000;

interface Tree {
  readonly receivers: Set<Receiver>;
  /** What has come of the open answers; null where it became too much. */
  readonly answers: Map<AttemptId, Pieces | null>;
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

  /** The open answers as far as they have come, each from its reset on. */
  soFar(key: string): readonly RunDelta[] {
    const answers = [...(this.#trees.get(key)?.answers.values() ?? [])];
    return answers.flatMap((pieces) => pieces?.all.map((piece) => ({ ...piece })) ?? []);
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
    const tree: Tree = { receivers: new Set(), answers: new Map() };
    this.#trees.set(key, tree);
    return tree;
  }

  #forget(key: string, { receivers, answers }: Tree): void {
    if (receivers.size === 0 && answers.size === 0) this.#trees.delete(key);
  }
}

function tell({ receivers, answers }: Tree, delta: RunDelta): void {
  const pieces = answers.get(delta.attempt);
  pieces?.add(delta);
  if (pieces && pieces.size > longestKept) answers.set(delta.attempt, null);
  for (const receiver of receivers) receiver(delta);
}
