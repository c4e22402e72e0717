import { AgentId, InvalidInputError, type Agent, type Input } from "#kernel";
import { parseTask } from "#agents";

/** Checks the data of an input against the agent's input schema, and returns the input with the schema's output. */
export async function checkTask({ id, input: schema }: Agent, input: Input): Promise<Input> {
  if (!schema) return input;
  const content = typeof input === "string" ? { text: input } : input;
  const parsed = await parseTask(schema, content.data);
  if ("data" in parsed) return { ...content, data: parsed.data };
  const problem = `its data does not match the input schema of agent ${AgentId.type(id)}: ${parsed.issues}`;
  throw new InvalidInputError({ problem });
}
