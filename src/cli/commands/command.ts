import type { ReeveClient } from "../client/reeve-client.ts";
import type { Terminal } from "../terminal.ts";
import type { Screen } from "../views/screen.ts";
import { asTyped } from "../text/as-typed.ts";

/** Dependencies of every command. */
export interface Context {
  readonly terminal: Terminal;
  readonly client: ReeveClient;
  /** Whether output is JSON: one object, or one per line. */
  readonly json: boolean;
}

/** Returns what puts the commands of an advice as the user types them. */
export const asTypedIn =
  ({ terminal }: Context) =>
  (advice: string): string =>
    asTyped(advice, terminal.command);

/** The address of a screen of the dashboard as a line; none where the server has no dashboard. */
export async function linkLines(
  { client }: Context,
  path: string,
  { paint }: Pick<Screen, "paint">,
): Promise<readonly string[]> {
  const address = await client.screenAddress(path);
  return address === null ? [] : [paint("faint", `  ${address}`)];
}

/** Writes lines for human readers. */
export function printLines({ terminal }: Context, lines: readonly string[]): void {
  terminal.out.write(`${lines.join("\n")}\n`);
}

/** Writes one line for programs. */
export function sayJson({ terminal }: Context, value: unknown): void {
  terminal.out.write(`${JSON.stringify(value)}\n`);
}
