import { useEffect, useState, useSyncExternalStore } from "react";
import { liveClient } from "./live-client.ts";
import type { FeedState, TreeFeed } from "./tree-feed.ts";

const none = (): (() => void) => () => undefined;
const loading: FeedState = { kind: "loading" };

/** Follows a tree while it is shown; null: none. */
export function useTree(tree: string | null): FeedState {
  const [feed, setFeed] = useState<TreeFeed | null>(null);
  useEffect(() => {
    if (tree === null) return setFeed(null);
    const followed = liveClient.follow(tree);
    setFeed(followed.feed);
    return followed.leave;
  }, [tree]);
  return useSyncExternalStore(feed?.subscribe ?? none, () => feed?.state ?? loading);
}

/** Shows the answers of a run as they are given. */
export function useSpeech(run: string): void {
  useEffect(() => liveClient.listenTo(run), [run]);
}

/** Returns whether the display is frozen, and a function that changes it. */
export function useHold(): {
  readonly isHeld: boolean;
  readonly toggle: () => void;
  readonly showNew: () => void;
} {
  const isHeld = useSyncExternalStore(liveClient.subscribeToHeld, () => liveClient.isHeld);
  return {
    isHeld,
    toggle: () => liveClient.setHeld(!liveClient.isHeld),
    showNew: () => liveClient.showNew(),
  };
}
