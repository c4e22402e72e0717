import type { RunMemory } from "#kernel";

/** Returns the memory. @throws TypeError without a store. */
export function requireMemory(memory: RunMemory | null): RunMemory {
  if (!memory) throw new TypeError("memory needs a store: createRuntime({ store })");
  return memory;
}
