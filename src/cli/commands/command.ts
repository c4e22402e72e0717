import type { ReeveClient } from "../client/reeve-client.ts";
import type { Terminal } from "../terminal.ts";

/** What every command works with. */
export interface Context {
  readonly terminal: Terminal;
  readonly client: ReeveClient;
  /** One JSON object, or one on each line, instead of words. */
  readonly json: boolean;
}

/** Writes lines for people. */
export function say({ terminal }: Context, lines: readonly string[]): void {
  terminal.out.write(`${lines.join("\n")}\n`);
}

/** Writes one line for programs. */
export function sayJson({ terminal }: Context, value: unknown): void {
  terminal.out.write(`${JSON.stringify(value)}\n`);
}
