import { registerHooks } from "node:module";
import { bugs, plantBug } from "./bugs.ts";

/** Loaded before a worker's own code: `REEVE_PLANTED` names the predicate whose bug is inserted. */
const bug = bugs.find(({ predicate }) => predicate === process.env["REEVE_PLANTED"]);
const decoder = new TextDecoder();

if (bug)
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.endsWith(`/src/${bug.file}`)) return loaded;
      const source = typeof loaded.source === "string" ? loaded.source : decoder.decode(loaded.source);
      return { ...loaded, source: plantBug(source, bug) };
    },
  });
