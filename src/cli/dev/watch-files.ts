import { watch } from "node:fs";
import { sep } from "node:path";

const source = /\.(?:[cm]?[jt]s|json)$/;
const quietMs = 150;

/** Calls when sources of a project have changed, once they have been quiet for a moment. Returns what ends that. */
export function watchFiles(folder: string, call: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive: true }, (_event, name) => {
    if (name === null || !isSource(name)) return;
    clearTimeout(timer);
    timer = setTimeout(call, quietMs);
  });
  // A folder that goes away while it is watched is no reason to end.
  watcher.on("error", () => undefined);
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

function isSource(path: string): boolean {
  const parts = path.split(sep);
  return (
    source.test(path) &&
    !parts.some((part) => part.startsWith(".") || part === "node_modules" || part === "dist")
  );
}
