import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

const source = /\.(?:[cm]?[jt]s|json)$|^\.env$/;
const quietMs = 150;

/** Calls when sources of a project have changed, once they have been quiet for a moment. Returns what ends that. */
export function watchFiles(folder: string, call: () => void): () => void {
  // Folder by folder: a recursive watch loses sight of files that an editor replaces when it saves.
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  const scheduleChange = (): void => {
    clearTimeout(timer);
    timer = setTimeout(call, quietMs);
  };
  /** Watches new folders. Returns whether there were any: they may already hold sources. */
  const look = (): boolean => {
    const fresh = [...foldersIn(folder)].filter((path) => !watchers.has(path));
    for (const path of fresh) {
      const watcher = watch(path, (_event, name) => {
        if (name === null || source.test(name) || look()) scheduleChange();
      });
      // A folder that goes away while it is watched is not a reason to end.
      watcher.on("error", () => watchers.delete(path));
      watchers.set(path, watcher);
    }
    return fresh.length > 0;
  };
  look();
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** Yields the folder and its subfolders that may hold sources. */
function* foldersIn(folder: string): Generator<string, void> {
  yield folder;
  for (const entry of readEntries(folder))
    if (entry.isDirectory() && !/^(?:\.|node_modules$|dist$)/.test(entry.name))
      yield* foldersIn(join(folder, entry.name));
}

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
