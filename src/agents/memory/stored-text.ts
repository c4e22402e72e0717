import type { ContentBlock, MemorySharing, RunContext, RunMemory, Tool } from "#kernel";
import { textInput } from "../tools/text-input.ts";
import { tool } from "../tools/tool.ts";

/** A text that an agent's code keeps between turns, in a block of memory. Without a store nothing is kept. */
export interface StoredText {
  /** The tools that read and write it, because memory is accessed inside a step. */
  readonly tools: readonly Tool[];
  /** Reads the text. Empty if there is none. */
  read(ctx: RunContext): Promise<string>;
  write(ctx: RunContext, text: string): Promise<void>;
}

/** Creates a named text. `sharing`: the owner of its block. A text over the limit loses its beginning. */
export function storedText(name: string, sharing: MemorySharing, limit: number): StoredText {
  const [reads, writes] = [`read_${name}`, `write_${name}`];
  const flow = {
    risk: "safe",
    origin: "memory",
    trust: "trusted",
    egress: false,
    idempotent: true,
  } as const;
  return {
    tools: [
      tool({
        ...flow,
        name: reads,
        description: `Reads the ${name}.`,
        input: textInput({}),
        execute: async (_, { memory }) => (await memory?.block(name, sharing))?.text ?? "",
      }),
      tool({
        ...flow,
        name: writes,
        description: `Replaces the ${name}.`,
        input: textInput({ text: { description: "The new text", max: limit } }),
        execute: async ({ text }, { memory, idempotencyKey: id }) => {
          if (memory) await replace(memory, { name, sharing, limit }, { id, text });
          return null;
        },
      }),
    ],
    read: async (ctx) => {
      const { content, isError } = await ctx.tool(reads, {});
      return isError ? "" : content.flatMap(toTexts).join("");
    },
    write: async (ctx, text) => void (await ctx.tool(writes, { text: text.slice(-limit) })),
  };
}

const toTexts = (block: ContentBlock): readonly string[] => (block.type === "text" ? [block.text] : []);

/** Replaces the text. Of two concurrent runs, the later one wins. */
async function replace(
  memory: RunMemory,
  {
    name,
    sharing,
    limit,
  }: { readonly name: string; readonly sharing: MemorySharing; readonly limit: number },
  edit: { readonly id: string; readonly text: string },
): Promise<void> {
  for (;;) {
    const version = (await memory.block(name, sharing))?.version ?? 0;
    const { outcome } = await memory.editBlock(name, sharing, { ...edit, version, limit });
    if (outcome === "applied") return;
  }
}
