import * as memories from "../commands/memory.ts";
import { parseCount } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface MemoryFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly user?: string;
}

/** `reeve memory`: what agents remember of a user. */
export function addMemory({ program, addServerOptions, contextOf, exit }: Commands): void {
  const memory = program.command("memory").description("show and erase what agents remember about a user");
  const whose = [
    "--user <user>",
    "memory of this user (default: the user of the key, else the anonymous user)",
  ] as const;
  addServerOptions(memory.command("facts"))
    .description("list current facts")
    .option(...whose)
    .option("--key <key>", "only facts with this key")
    .option("--history", "also list facts that are past or not yet valid")
    .action(
      async ({
        user,
        key,
        history = false,
        ...flags
      }: MemoryFlags & { readonly key?: string; readonly history?: boolean }) =>
        exit(await memories.facts(contextOf(flags), { user, key, history })),
    );
  addServerOptions(memory.command("blocks"))
    .description("show the memory blocks that are part of every turn")
    .option(...whose)
    .action(async ({ user, ...flags }: MemoryFlags) => exit(await memories.blocks(contextOf(flags), user)));
  addServerOptions(memory.command("recall <words...>"))
    .description("search facts and earlier turns")
    .option(...whose)
    .option("--limit <number>", "maximum number of results", parseCount, 20)
    .action(
      async (words: readonly string[], { user, limit, ...flags }: MemoryFlags & { readonly limit: number }) =>
        exit(await memories.recall(contextOf(flags), words.join(" "), { user, limit })),
    );
  addServerOptions(memory.command("forget <key>"))
    .description("erase the facts of a key and their history")
    .option(...whose)
    .action(async (key: string, { user, ...flags }: MemoryFlags) =>
      exit(await memories.forget(contextOf(flags), key, user)),
    );
  addServerOptions(memory.command("export"))
    .description("print facts and blocks as JSON lines")
    .option(...whose)
    .action(async ({ user, ...flags }: MemoryFlags) =>
      exit(await memories.exportMemory(contextOf(flags), user)),
    );
}
