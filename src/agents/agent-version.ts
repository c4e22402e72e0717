import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Agent, Tool } from "#kernel";
import { fingerprint } from "#base";
import { jsonSchemaOf } from "./tools/tool.ts";

/**
 * Returns the version of an agent: its own, else a hash of everything that its journal depends on. That is the names,
 * kinds and schemas of its tools, its output schema, and the limits of its loop. Model, instructions, prices,
 * descriptions and the code of tools are not part of it: a run continues when they change.
 */
export function agentVersion(agent: Agent<unknown>): string {
  if (agent.version !== undefined) return agent.version;
  const known = versions.get(agent);
  if (known !== undefined) return known;
  const tools = (agent.tools ?? []).map(shapeOf).toSorted();
  const version = `auto-${fingerprint(JSON.stringify([tools, ...loopOf(agent)]))}`;
  versions.set(agent, version);
  return version;
}

const versions = new WeakMap<Agent<unknown>, string>();

function shapeOf(tool: Tool): string {
  return JSON.stringify([tool.name, "run" in tool ? "run" : "effect", schemaOf(tool.input)]);
}

function loopOf(agent: Agent<unknown>): readonly unknown[] {
  const output = "output" in agent && isSchema(agent.output) ? schemaOf(agent.output) : null;
  const loopLimits = "loopLimits" in agent ? agent.loopLimits : null;
  const isOff = agent.policy?.compaction === false;
  return [
    output,
    loopLimits ?? null,
    ("continueAfter" in agent ? agent.continueAfter : null) ?? null,
    ...(isOff ? ["no compaction"] : []),
    ...("maxHandoffs" in agent && agent.maxHandoffs !== undefined ? [agent.maxHandoffs] : []),
    ...(agent.architecture ? [agent.architecture.name] : []),
  ];
}

function isSchema(value: unknown): value is StandardSchemaV1 {
  return typeof value === "object" && value !== null && "~standard" in value;
}

/** Returns the JSON Schema of a schema. One without a JSON Schema counts only by its presence. */
function schemaOf(schema: StandardSchemaV1): unknown {
  try {
    return jsonSchemaOf(schema);
  } catch {
    return "unknown";
  }
}
