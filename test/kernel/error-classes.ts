import { ReeveError } from "reeve";

/** In a variable: a namespace import would hide unused exports from knip. */
const layer = "#kernel";

const isError = (value: unknown): boolean =>
  typeof value === "function" && value.prototype instanceof ReeveError;

/** Returns the error classes of the kernel. */
export async function getErrorClasses(): Promise<ReadonlySet<unknown>> {
  const kernel: object = await import(layer);
  return new Set(Object.values(kernel).filter(isError));
}
