import type { AgentGraph } from "#runtime";

/** Draws a program as a tree, a part on each line. */
export function graphLines(graph: AgentGraph): readonly string[] {
  return [labelOf(graph), ...drawParts(graph, "")];
}

function* drawParts({ parts }: AgentGraph, indent: string): Generator<string, void> {
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    yield `${indent}${isLast ? "└ " : "├ "}${labelOf(part)}`;
    yield* drawParts(part, `${indent}${isLast ? "  " : "│ "}`);
  }
}

function labelOf({ kind, name, architecture, isRepeated, isHandoff }: AgentGraph): string {
  const how = architecture === undefined ? "" : ` (${architecture})`;
  return `${isHandoff ? "hands off to " : ""}${kind === "agent" ? "" : `${kind} `}${name}${how}${isRepeated ? ", see above" : ""}`;
}

/** Draws a program as a Mermaid flowchart. */
export function graphMermaid(graph: AgentGraph): string {
  const lines = ["flowchart TD"];
  const ids = new Map<string, string>();
  let count = 0;
  const draw = (part: AgentGraph): string => {
    const key = part.kind === "agent" ? part.name : `${part.kind} ${count}`;
    const known = ids.get(key);
    const id = known ?? `n${(count += 1)}`;
    ids.set(key, id);
    if (known === undefined) lines.push(`  ${id}${shapeOf(part)}`);
    for (const each of part.parts)
      lines.push(`  ${id} ${each.isHandoff ? "-. handoff .->" : "-->"} ${draw(each)}`);
    return id;
  };
  draw(graph);
  return lines.join("\n");
}

function shapeOf(part: AgentGraph): string {
  const text = JSON.stringify(labelOf({ ...part, isRepeated: undefined, isHandoff: undefined }));
  if (part.kind === "agent") return `[${text}]`;
  return part.kind === "flow" ? `{{${text}}}` : `([${text}])`;
}
