import { useEffect, useState, useSyncExternalStore } from "react";
import { type FeedState, TreeFeed } from "./tree-feed.ts";

const none = (): (() => void) => () => undefined;
const loading: FeedState = { kind: "loading" };

/** Follows a tree while it is shown; null: none. */
export function useTree(tree: string | null): FeedState {
  const [feed, setFeed] = useState<TreeFeed | null>(null);
  useEffect(() => {
    if (tree === null) return setFeed(null);
    const opened = new TreeFeed(tree);
    setFeed(opened);
    return () => opened.close();
  }, [tree]);
  return useSyncExternalStore(feed?.subscribe ?? none, () => feed?.state ?? loading);
}
