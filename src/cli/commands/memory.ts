import type { Fact, FoundMemory } from "#kernel";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { factLines, foundLines, blockLines } from "../views/memory.ts";
import { type Context, printLines, sayJson } from "./command.ts";

interface FactsQuery {
  readonly user?: string | undefined;
  readonly key?: string | undefined;
  readonly history?: boolean;
}

/** Lists facts about a user. */
export async function facts(context: Context, query: FactsQuery): Promise<number> {
  const found: readonly Fact[] = await context.client.memory.facts(query);
  return showItems(context, found, factLines(found, screenOf(context.terminal)));
}

/** Shows blocks, each with its text. */
export async function blocks(context: Context, user: string | undefined): Promise<number> {
  const found = await context.client.memory.blocks({ user });
  return showItems(context, found, blockLines(found));
}

/** Searches facts and earlier turns by keywords. */
export async function recall(
  context: Context,
  text: string,
  options: { readonly user?: string | undefined; readonly limit: number },
): Promise<number> {
  const found: readonly FoundMemory[] = await context.client.memory.recall(text, options);
  return showItems(context, found, foundLines(found, screenOf(context.terminal)));
}

/** Erases the facts of a key. */
export async function forget(context: Context, key: string, user: string | undefined): Promise<number> {
  const { forgotten, conversations } = await context.client.memory.forget({ key }, { user });
  if (context.json) sayJson(context, { forgotten, conversations });
  else
    printLines(context, [
      `${forgotten} ${forgotten === 1 ? "fact" : "facts"} erased`,
      ...conversations.map((id) => `still said in the conversation ${id}: delete it if it must go`),
    ]);
  return ExitCode.ok;
}

/** Writes facts and blocks of a user as JSON lines. */
export async function exportMemory({ terminal, client }: Context, user: string | undefined): Promise<number> {
  for await (const piece of client.memory.export({ user })) terminal.out.write(piece);
  return ExitCode.ok;
}

function showItems(context: Context, items: readonly unknown[], lines: readonly string[]): number {
  if (context.json) for (const item of items) sayJson(context, item);
  else printLines(context, lines);
  return ExitCode.ok;
}
