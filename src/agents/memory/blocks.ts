import type { BlockEditResult, MemoryBlock, MemorySharing, PromptSection, RunMemory, Tool } from "#kernel";
import { tool } from "../tools/tool.ts";
import { requireMemory } from "./require-memory.ts";
import { textInput } from "../tools/text-input.ts";

/** A block of memory: a text that the agent is shown whole in every turn, and edits. */
export interface BlockOptions {
  /** Maximum characters of its text. */
  readonly limit: number;
  /** The purpose of the block, for the model. Default: none. */
  readonly description?: string | undefined;
  /** Its owner: each user, the tenant with all its users, or each session. Default: user. */
  readonly shared?: MemorySharing | undefined;
}

/** A block by name. */
export interface NamedBlock extends BlockOptions {
  readonly name: string;
  readonly shared: MemorySharing;
}

/** Returns the section that shows a block. Blocks shared by all users change less, so they come first. */
export function blockSection(block: NamedBlock): PromptSection {
  const { name, shared } = block;
  return {
    name: `block.${name}`,
    place: shared === "tenant" ? "memory" : "user",
    // Another process may have edited it.
    keep: "turn",
    read: async ({ memory }) => describeBlock(block, await requireMemory(memory).block(name, shared)),
  };
}

function describeBlock({ name, limit, description }: NamedBlock, present: MemoryBlock | null): string {
  const text = present?.text ?? "";
  const head = `Memory block "${name}" (${text.length} of ${limit} characters)`;
  const about = description === undefined ? "" : `: ${description}`;
  return `${head}${about}\n${text === "" ? "(empty)" : text}`;
}

/** The outcome of an edit, as shown to the model. */
type EditReport =
  | { readonly edited: true; readonly block: string; readonly version: number }
  | { readonly edited: false; readonly block: string; readonly reason: string; readonly text: string };

/**
 * Returns the tools that edit blocks: `edit_block`, and `edit_shared_block` for those of the tenant. Other users see an
 * edit of a shared block. So by the rule of two, a run that has seen untrusted and private content needs approval for
 * one.
 */
export function editTools(blocks: readonly NamedBlock[]): readonly Tool[] {
  const shared = blocks.filter((block) => block.shared === "tenant");
  const own = blocks.filter((block) => block.shared !== "tenant");
  return [
    ...(own.length > 0 ? [editTool("edit_block", "a memory block", own)] : []),
    ...(shared.length > 0
      ? [editTool("edit_shared_block", "a memory block that all users share", shared)]
      : []),
  ];
}

function editTool(name: string, what: string, blocks: readonly NamedBlock[]): Tool {
  const max = Math.max(...blocks.map(({ limit }) => limit));
  const names = blocks.map((block) => block.name);
  return tool({
    name,
    description: `Edits ${what}: replaces one passage of its text. An empty old_text adds new_text at the end; an empty new_text removes the passage.`,
    input: textInput({
      block: { description: "The name of the block", max: 64, oneOf: names },
      old_text: { description: "The passage exactly as it is in the block; it must occur once", max },
      new_text: { description: "The new text of the passage", max },
    }),
    risk: "safe",
    origin: "memory",
    // It adds the labels of the blocks that it shows.
    trust: "trusted",
    egress: blocks.some(({ shared }) => shared === "tenant"),
    idempotent: true,
    execute: async ({ block: wanted, old_text: from, new_text: to }, { memory, idempotencyKey: id }) => {
      const block = blocks.find((given) => given.name === wanted);
      if (!block) throw new TypeError(`there is no memory block ${wanted}`);
      return editBlock(requireMemory(memory), block, { id, from, to });
    },
  });
}

interface Replacement {
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

async function editBlock(
  memory: RunMemory,
  { name, limit, shared }: NamedBlock,
  { id, from, to }: Replacement,
): Promise<EditReport> {
  // A call that is repeated after a crash may find its edit in the text.
  const receipt = await memory.findEdit(shared, id);
  if (receipt) return { edited: true, block: name, version: receipt.version };
  const present = await memory.block(name, shared);
  const { text = "", version = 0 } = present ?? {};
  const refuse = (reason: string, shown = text): EditReport => ({
    edited: false,
    block: name,
    reason,
    text: shown,
  });
  const replaced = replacePassage(text, from, to);
  if (typeof replaced !== "string") return refuse(replaced.problem);
  if (replaced.length > limit)
    return refuse(
      `the text would have ${replaced.length} characters, and at most ${limit} are allowed: shorten it`,
    );
  const result: BlockEditResult = await memory.editBlock(name, shared, {
    id,
    text: replaced,
    version,
    limit,
  });
  if (result.outcome === "applied") return { edited: true, block: name, version: result.receipt.version };
  return refuse(
    "another run edited the block at the same time: try again with its current text",
    result.present?.text ?? "",
  );
}

function replacePassage(text: string, from: string, to: string): string | { readonly problem: string } {
  if (from === "") return text === "" ? to : `${text}\n${to}`;
  const at = text.indexOf(from);
  if (at === -1) return { problem: "old_text is not in the block: try again with its current text" };
  if (text.includes(from, at + 1))
    return { problem: "old_text is in the block more than once: give a longer passage" };
  return `${text.slice(0, at)}${to}${text.slice(at + from.length)}`;
}
