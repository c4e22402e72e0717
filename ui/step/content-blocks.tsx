import type { ReactNode } from "react";
import type { Json } from "../api/records.ts";
import { InertText, LongText } from "../parts/inert-text.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { Markdown } from "../parts/markdown.tsx";

/** A field of JSON; null: it is not an object, or has none. */
export function fieldOf(value: Json | undefined, name: string): Json {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
  const field: unknown = Reflect.get(value, name);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a field of JSON is JSON
  return field as Json;
}

const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

/** The text of a field; empty: it is none. */
export const stringOf = (value: Json): string => (typeof value === "string" ? value : "");

/** The blocks of a message, or of the result of a tool. */
export const blocksOf = (content: Json | undefined): readonly Json[] =>
  listOf(fieldOf(content ?? null, "content"));

/** The text of a message, without thinking and calls. */
export function messageText(content: Json | undefined): string {
  return blocksOf(content)
    .map((block) => (fieldOf(block, "type") === "text" ? stringOf(fieldOf(block, "text")) : ""))
    .join("");
}

/** The names of tools that a message calls, or has the results of. */
export function toolNames(content: Json | undefined, type: "tool-call" | "tool-result"): readonly string[] {
  return blocksOf(content).flatMap((block) =>
    fieldOf(block, "type") === type ? [stringOf(fieldOf(block, "name"))] : [],
  );
}

/** The blocks of a message, each as text or as data. `markdown`: texts are read as Markdown. */
export function ContentBlocks({
  blocks,
  markdown = false,
}: {
  readonly blocks: readonly Json[];
  readonly markdown?: boolean;
}): ReactNode {
  return blocks.map((block, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- blocks have no identity of their own
    <Block key={index} block={block} markdown={markdown} />
  ));
}

function Block({ block, markdown }: { readonly block: Json; readonly markdown: boolean }): ReactNode {
  const text = stringOf(fieldOf(block, "text"));
  switch (stringOf(fieldOf(block, "type"))) {
    case "text":
      return markdown ? <Markdown text={text} /> : <TextBlock text={text} />;
    case "reasoning":
      return (
        <div className="thinking">
          <span className="muted">thinking</span>
          <TextBlock text={text} />
        </div>
      );
    case "tool-call":
      return <ToolCall block={block} />;
    case "tool-result":
      return <ToolResult block={block} />;
    case "file":
      return <FileBlock block={block} />;
    case "data":
      return <JsonTree value={fieldOf(block, "data")} />;
    default:
      return <JsonTree value={block} />;
  }
}

/** Shows a text as written. JSON is also shown as a tree. */
function TextBlock({ text }: { readonly text: string }): ReactNode {
  return (
    <pre>
      <LongText text={text} />
    </pre>
  );
}

function ToolCall({ block }: { readonly block: Json }): ReactNode {
  const malformed = fieldOf(block, "malformedInput");
  return (
    <div className="tool-call">
      <span className="pill">
        → <InertText text={stringOf(fieldOf(block, "name"))} />
      </span>
      {malformed === null ? (
        <JsonTree value={fieldOf(block, "input")} open={1} />
      ) : (
        <pre>
          <InertText text={stringOf(malformed)} />
        </pre>
      )}
    </div>
  );
}

function ToolResult({ block }: { readonly block: Json }): ReactNode {
  return (
    <div className="tool-result">
      <span className={fieldOf(block, "isError") === true ? "pill bad" : "pill"}>
        ← <InertText text={stringOf(fieldOf(block, "name"))} />
        {fieldOf(block, "isError") === true && ", error"}
      </span>
      <ContentBlocks blocks={listOf(fieldOf(block, "content"))} />
    </div>
  );
}

/** A file is never loaded: its name, type and size are shown. */
function FileBlock({ block }: { readonly block: Json }): ReactNode {
  const source = fieldOf(block, "source");
  const bytes = fieldOf(source, "bytes");
  const address = stringOf(fieldOf(source, "url"));
  return (
    <p className="file">
      file <InertText text={stringOf(fieldOf(block, "name"))} />{" "}
      <InertText text={stringOf(fieldOf(block, "mediaType"))} />
      {typeof bytes === "number" && ` ${bytes} bytes`} <InertText text={address} />
    </p>
  );
}
