import * as memories from "../commands/memory.ts";
import { whole } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface MemoryFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly user?: string;
}

/** `reeve memory`: what agents remember of a user. */
export function addMemory({ program, asking, contextOf, exit }: Commands): void {
  const memory = program.command("memory").description("what agents remember of a user");
  const whose = ["--user <user>", "of this user; else of the key's, or of the anonymous one"] as const;
  asking(memory.command("facts"))
    .description("list facts that hold now")
    .option(...whose)
    .option("--key <key>", "only those of this key")
    .option("--history", "earlier and later ones, too")
    .action(
      async ({
        user,
        key,
        history = false,
        ...flags
      }: MemoryFlags & { readonly key?: string; readonly history?: boolean }) =>
        exit(await memories.facts(contextOf(flags), { user, key, history })),
    );
  asking(memory.command("blocks"))
    .description("show the texts that agents are shown in every turn")
    .option(...whose)
    .action(async ({ user, ...flags }: MemoryFlags) => exit(await memories.blocks(contextOf(flags), user)));
  asking(memory.command("recall <words...>"))
    .description("search facts and earlier turns by words")
    .option(...whose)
    .option("--limit <number>", "how many", whole, 20)
    .action(
      async (words: readonly string[], { user, limit, ...flags }: MemoryFlags & { readonly limit: number }) =>
        exit(await memories.recall(contextOf(flags), words.join(" "), { user, limit })),
    );
  asking(memory.command("forget <key>"))
    .description("erase the facts of a key with their history")
    .option(...whose)
    .action(async (key: string, { user, ...flags }: MemoryFlags) =>
      exit(await memories.forget(contextOf(flags), key, user)),
    );
  asking(memory.command("export"))
    .description("write facts and blocks as JSON lines")
    .option(...whose)
    .action(async ({ user, ...flags }: MemoryFlags) =>
      exit(await memories.exportMemory(contextOf(flags), user)),
    );
}
