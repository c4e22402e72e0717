import type { ReactNode } from "react";
import type { EntryRecord, Json } from "../api/records.ts";
import { clockTime, count, dayTime, tokens } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";

/** A number of entries, in words. */
export const entriesText = (value: number): string => (value === 1 ? "1 entry" : `${count(value)} entries`);

/** States why content is missing, and its size. */
function Hidden({ entry }: { readonly entry: EntryRecord }): ReactNode {
  return (
    <span className="muted">
      [content: needs the scope content]
      {entry.tokens === undefined ? "" : ` ${tokens(entry.tokens)} tokens`}
    </span>
  );
}

type Fields = Readonly<Record<string, Json>>;

const isFields = (value: Json): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: Json | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);

/** One block of a message, as text. */
function Block({ block }: { readonly block: Json }): ReactNode {
  if (!isFields(block)) return <InertText text={textOf(block)} />;
  switch (textOf(block["type"])) {
    case "text":
      return <InertText text={textOf(block["text"])} />;
    case "reasoning":
      return (
        <details>
          <summary>reasoning</summary>
          <InertText text={textOf(block["text"])} />
        </details>
      );
    case "tool-call":
      return (
        <div className="call">
          calls <b className="mono">{<InertText text={textOf(block["name"])} />}</b>{" "}
          <span className="mono">
            <InertText text={JSON.stringify(block["input"] ?? null)} />
          </span>
        </div>
      );
    case "tool-result":
      return <ToolResult block={block} />;
    default:
      return (
        <span className="mono muted">
          <InertText text={`[${textOf(block["type"])}] ${textOf(block["name"] ?? "")}`} />
        </span>
      );
  }
}

function ToolResult({ block }: { readonly block: Fields }): ReactNode {
  const content = block["content"];
  return (
    <div className="call">
      <b className="mono">{<InertText text={textOf(block["name"])} />}</b>
      {block["isError"] === true ? " failed: " : " answered: "}
      {Array.isArray(content)
        ? // oxlint-disable-next-line react/no-array-index-key -- blocks have no identity of their own
          content.map((each, index) => <Block key={index} block={each} />)
        : textOf(content)}
    </div>
  );
}

function MessageBody({ entry }: { readonly entry: EntryRecord }): ReactNode {
  const content = entry.message?.content;
  if (!content) return <Hidden entry={entry} />;
  return content.map((block, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- blocks have no identity of their own
    <div className="block" key={index}>
      <Block block={block} />
    </div>
  ));
}

/** An entry that is not a message, as one line. */
function lineOf(entry: EntryRecord, replaced: number): string {
  switch (entry.type) {
    case "compaction":
      return `Compacted: ${entriesText(replaced)} above, ${tokens(entry.tokensBefore ?? 0)} tokens, became a summary`;
    case "model-change":
      return `Model changed to ${entry.model ?? ""}`;
    case "label":
      return entry.label === null ? "Label removed" : `Label: ${entry.label ?? ""}`;
    case "branch":
      return "Branched from an earlier entry";
    case "custom":
      return `Entry of kind ${entry.kind ?? "custom"}`;
    default:
      return `Entry of type ${entry.type}`;
  }
}

/** One entry of a conversation. Entries other than messages are one line; a compaction expands to its summary. */
export function EntryView({
  entry,
  replaced = 0,
  isReplaced = false,
  children,
}: {
  readonly entry: EntryRecord;
  /** Entries that it replaced, if it is a compaction. */
  readonly replaced?: number;
  readonly isReplaced?: boolean;
  /** Actions on it. */
  readonly children?: ReactNode;
}): ReactNode {
  const role = entry.role ?? entry.message?.role;
  const time = (
    <time
      className="muted"
      dateTime={new Date(entry.at).toISOString()}
      title={`${dayTime(entry.at)}, ${new Date(entry.at).toISOString()}`}
    >
      {clockTime(entry.at)}
    </time>
  );
  if (entry.type !== "message")
    return (
      <div className={entry.type === "compaction" ? "entry one-line compaction" : "entry one-line"}>
        {entry.type === "compaction" ? (
          <details>
            <summary>{lineOf(entry, replaced)}</summary>
            {entry.summary === undefined ? (
              <Hidden entry={entry} />
            ) : (
              <InertText text={entry.summary ?? ""} />
            )}
          </details>
        ) : (
          <span>
            <InertText text={lineOf(entry, replaced)} />
          </span>
        )}
        {time}
      </div>
    );
  return (
    <article className={`entry ${role ?? ""}${isReplaced ? " replaced" : ""}`} aria-label={role ?? "message"}>
      <header>
        <b>{role}</b>
        {time}
        {isReplaced && <span className="pill">replaced by a summary</span>}
        <span className="spring" />
        <span className="entry-acts">{children}</span>
      </header>
      <div className="entry-body">
        <MessageBody entry={entry} />
      </div>
    </article>
  );
}
