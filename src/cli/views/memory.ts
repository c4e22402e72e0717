import type { Fact, FoundMemory, Json } from "#kernel";
import { valueText } from "#base";
import type { SharedBlock } from "#runtime";
import { moment, clean } from "#view";
import { type Column, table } from "../text/table.ts";
import type { Screen } from "./screen.ts";

const inWords = (value: Json): string => clean(valueText(value));

/** Facts, one line each. */
export function factLines(facts: readonly Fact[], screen: Screen): readonly string[] {
  const columns: readonly Column<Fact>[] = [
    { title: "key", text: ({ key }) => clean(key), shrinkTo: 8 },
    { title: "since", text: ({ validFrom }) => moment(validFrom) },
    { title: "until", text: ({ validTo }) => (validTo === null ? "" : moment(validTo)) },
    { title: "value", text: ({ value }) => inWords(value), shrinkTo: 12 },
  ];
  return facts.length === 0 ? ["no facts"] : table(columns, facts, screen);
}

/** Blocks: a line with name, owner and fill, then the text. */
export function blockLines(blocks: readonly SharedBlock[]): readonly string[] {
  if (blocks.length === 0) return ["no blocks"];
  return blocks.flatMap(({ name, shared, text, limit }, index) => [
    ...(index > 0 ? [""] : []),
    `${name} (${shared === "tenant" ? "shared by all users, " : ""}${text.length} of ${limit} characters)`,
    ...text.split("\n").map((line) => `  ${clean(line)}`),
  ]);
}

/** Found facts and messages, one line each. */
export function foundLines(found: readonly FoundMemory[], screen: Screen): readonly string[] {
  const columns: readonly Column<FoundMemory>[] = [
    { title: "kind", text: ({ kind }) => (kind === "fact" ? "fact" : "message") },
    { title: "of", text: toItemName, shrinkTo: 8 },
    { title: "text", text: toItemText, shrinkTo: 12 },
  ];
  return found.length === 0 ? ["nothing found"] : table(columns, found, screen);
}

const toItemName = (item: FoundMemory): string =>
  item.kind === "fact" ? clean(item.fact.key) : `${item.episode.session} ${moment(item.episode.at)}`;

const toItemText = (item: FoundMemory): string =>
  item.kind === "fact" ? inWords(item.fact.value) : clean(`${item.episode.role}: ${item.episode.text}`);
