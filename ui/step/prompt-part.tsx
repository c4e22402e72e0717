import type { ReactNode } from "react";
import type { PartRecord } from "../api/steps.ts";
import { count, countText } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { blocksOf, ContentBlocks, fieldOf, stringOf, toolNames } from "./content-blocks.tsx";
import { PartDiff } from "./part-diff.tsx";

const senders = { message: "from", steer: "steered by", followUp: "follow-up of" } as const;

/** The name of a part: its role, or the tools whose results it has. */
export function partName({ role, content }: PartRecord): string {
  if (role === "tools") return Array.isArray(content) ? countText(content.length, "tool") : "Tools";
  if (role === "system") return "System";
  const names = role === "tool" ? [...new Set(toolNames(content, "tool-result"))] : [];
  return names.length > 0 ? `tool ${names.join(", ")}` : role;
}

/** Describes the source of a part, if known. */
function OriginText({
  part,
  saidBy,
}: {
  readonly part: PartRecord;
  readonly saidBy: string | null;
}): ReactNode {
  const { from, role } = part;
  if (from)
    return (
      <span className="el">
        {senders[from.kind]} <InertText text={from.name} />
      </span>
    );
  return role === "assistant" && saidBy !== null ? <span>said by {saidBy}</span> : null;
}

/** The labels that a part brings. */
export function LabelPills({ labels }: { readonly labels: PartRecord["labels"] | undefined }): ReactNode {
  return (
    <>
      {labels?.private === true && <span className="pill hold">private</span>}
      {labels?.untrusted === true && <span className="pill ask">untrusted</span>}
    </>
  );
}

const reasons = {
  ephemeral: "It was shown in this call only and is not stored.",
  retention: "The run keeps no history.",
  "too-large": "It has over 1,000,000 characters.",
} as const;

/** The reason why a part has no content here; null: it has. */
function absenceText({ content, missing, notStored }: PartRecord): string | null {
  if (missing === "not-stored") return `[not stored] ${notStored ? reasons[notStored] : ""}`;
  if (missing === "erased") return "[erased] The tree's key was destroyed, or the content was removed.";
  return content === undefined || content === null ? "[locked]" : null;
}

/** The content of a part as it was sent. */
export function PartContent({ part }: { readonly part: PartRecord }): ReactNode {
  const absence = absenceText(part);
  if (absence !== null) return <p className="absent">{absence}</p>;
  if (part.role === "tools") return <ToolDescriptions tools={part.content} />;
  const blocks = blocksOf(part.content);
  return part.role === "input" || part.role === "result" ? (
    <JsonTree value={part.content} open={4} />
  ) : (
    <ContentBlocks blocks={blocks} />
  );
}

function ToolDescriptions({ tools }: { readonly tools: PartRecord["content"] }): ReactNode {
  const list = Array.isArray(tools) ? tools : [];
  return list.map((tool, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- tools may have the same name
    <div key={index} className="described">
      <b>
        <InertText text={stringOf(fieldOf(tool, "name"))} />
      </b>{" "}
      <InertText text={stringOf(fieldOf(tool, "description"))} />
      <JsonTree value={fieldOf(tool, "inputSchema")} open={0} />
    </div>
  ));
}

/** The text of a part for a comparison: of tools their JSON, one member a line. */
function comparedText({ role, content }: PartRecord): string | null {
  if (content === undefined || content === null) return null;
  if (role === "tools") return JSON.stringify(content, null, 2);
  return blocksOf(content)
    .map((block) => fieldOf(block, "text"))
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** A part of a prompt. `replaced`: the part of the prompt before that stood in its place. */
export function PromptPart({
  part,
  isNew,
  replaced = null,
  saidBy = null,
}: {
  readonly part: PartRecord;
  readonly isNew: boolean;
  readonly replaced?: PartRecord | null;
  /** The step that produced it. */
  readonly saidBy?: string | null;
}): ReactNode {
  const [before, after] = [replaced && comparedText(replaced), comparedText(part)];
  const name = partName(part);
  return (
    <article className={isNew ? "part new" : "part"} aria-label={name}>
      <header>
        {isNew && <span aria-hidden="true">{replaced ? "±" : "+"}</span>}
        <b>
          <InertText text={name} />
        </b>
        <OriginText part={part} saidBy={saidBy} />
        <LabelPills labels={part.labels} />
        {replaced && <span className="ends">changed: the provider's cache ends here</span>}
        <span className="right">{count(part.tokens)} tokens</span>
      </header>
      <div className="part-body">
        {before !== null && after !== null ? (
          <PartDiff before={before} after={after} />
        ) : (
          <PartContent part={part} />
        )}
      </div>
    </article>
  );
}
