import { ApprovalId } from "#kernel";
import { CapReader } from "../client/cap-reader.ts";
import { snapshot } from "../client/snapshot.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import type { RunView } from "../tree/run-view.ts";
import { everybody, type TreeModel } from "../tree/tree-model.ts";
import { approvalLines, runLines } from "../views/lists.ts";
import { receiptLines } from "../views/receipt.ts";
import { treeHeadline, treeLines } from "../views/tree-lines.ts";
import { type Context, say, sayJson } from "./command.ts";

/** Lists runs, newest first. */
export async function runs(context: Context, query: Readonly<Record<string, string>>): Promise<number> {
  const page = await context.client.runs(query);
  if (context.json) for (const run of page.items) sayJson(context, run);
  else say(context, runLines(page.items, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Lists questions to people, newest first. */
export async function approvals(context: Context, query: Readonly<Record<string, string>>): Promise<number> {
  const page = await context.client.approvals(query);
  if (context.json) for (const approval of page.items) sayJson(context, approval);
  else say(context, approvalLines(page.items, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Shows a tree as it is now; one that is over with its receipt. */
export async function tree(context: Context, id: string): Promise<number> {
  const { client } = context;
  const model = await snapshot(client, id);
  const root = rootOf(model);
  const result = root.end ? await client.result(model.treeId) : null;
  if (context.json) {
    sayJson(context, { treeId: model.treeId, root, result });
    return ExitCode.ok;
  }
  const reader = new CapReader(client);
  for (const { runId } of everybody(root)) await reader.ask(runId);
  const screen = screenOf(context.terminal);
  const lines = [treeHeadline(root, reader.caps, screen), ...treeLines(root, reader.caps, screen)];
  say(context, result ? [...lines, "", ...receiptLines(root, result, screen)] : lines);
  return ExitCode.ok;
}

/** An approval as it was named: by its own id, or by a run or tree in which it is the only one. */
export async function approvalOf({ client }: Context, id: string): Promise<ApprovalId> {
  if (id.includes(":")) return ApprovalId.parse(id);
  const { treeId, runId } = await client.standing(id);
  const { items } = await client.approvals({ tree: treeId, state: "pending" });
  const asked = id.includes("~") ? items.filter((item) => item.runId === runId) : items;
  const [only, ...more] = asked;
  if (only && more.length === 0) return only.id;
  if (!only)
    throw new CliError(`nothing waits for approval in ${id}`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
    });
  throw new CliError(`${asked.length} calls wait for approval in ${id}: name one`, {
    code: "ambiguous",
    exitCode: ExitCode.usage,
    hint: `reeve approvals --tree ${treeId}`,
  });
}

function rootOf({ root, treeId }: TreeModel): RunView {
  if (root) return root;
  throw new CliError(`nothing has happened in ${treeId} yet`, {
    code: "not-begun",
    exitCode: ExitCode.notFound,
  });
}
