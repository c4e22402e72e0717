import type { ClientSwitchTarget } from "#client";
import { clean } from "#view";
import { ExitCode } from "../exit-code.ts";
import { type Context, printLines, sayJson } from "./command.ts";

/** Lists disabled tenants, agents and tools. */
export async function listSwitches(context: Context): Promise<number> {
  const found = await context.client.switches.list();
  if (context.json) for (const entry of found) sayJson(context, entry);
  else if (found.length === 0) printLines(context, ["nothing is disabled"]);
  else
    printLines(
      context,
      found.map(({ kind, name, reason, by, at }) => {
        const why = reason === null ? "" : `: ${clean(reason)}`;
        const who = by === null ? "" : ` by ${clean(by)}`;
        return `${kind} ${clean(name)}: disabled${who} at ${new Date(at).toISOString()}${why}`;
      }),
    );
  return ExitCode.ok;
}

/** Disables something. */
export async function disable(
  context: Context,
  target: ClientSwitchTarget,
  settings: { readonly reason?: string },
): Promise<number> {
  await context.client.switches.disable(target, settings);
  return showSwitch(context, target, "disabled");
}

/** Enables something again. */
export async function enable(context: Context, target: ClientSwitchTarget): Promise<number> {
  const wasDisabled = await context.client.switches.enable(target);
  return showSwitch(context, target, wasDisabled ? "enabled" : "was not disabled");
}

function showSwitch(context: Context, target: ClientSwitchTarget, state: string): number {
  const name = "name" in target ? `${target.kind} ${target.name}` : target.kind;
  if (context.json) sayJson(context, { ...target, state });
  else printLines(context, [`${clean(name)}: ${state}`]);
  return ExitCode.ok;
}
