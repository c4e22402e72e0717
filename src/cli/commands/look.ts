import { errorMessage } from "#base";
import { ApprovalId, type ApprovalRecord } from "#kernel";
import { type AgentView, allAgents, type TreeModel } from "#view";
import { CapReader } from "../client/cap-reader.ts";
import { snapshot } from "../client/snapshot.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { approvalLines } from "../views/approval-lines.ts";
import { agentLines, runLines, sessionLines } from "../views/lists.ts";
import { receiptLines } from "../views/receipt.ts";
import { treeHeadline, treeLines } from "../views/tree-lines.ts";
import { asTypedIn, type Context, linkLines, printLines, sayJson } from "./command.ts";

/** Lists runs, newest first. */
export async function runs(context: Context, query: Readonly<Record<string, string>>): Promise<number> {
  const page = await context.client.runs(query);
  if (context.json) for (const run of page.items) sayJson(context, run);
  else printLines(context, runLines(page.items, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Lists the agents that can be started. */
export async function agents(context: Context): Promise<number> {
  const items = await context.client.agents();
  if (context.json) for (const item of items) sayJson(context, item);
  else printLines(context, agentLines(items, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Lists sessions, newest first. */
export async function sessions(context: Context, query: Readonly<Record<string, string>>): Promise<number> {
  const page = await context.client.sessions(query);
  if (context.json) for (const session of page.items) sayJson(context, session);
  else printLines(context, sessionLines(page.items, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Lists approval questions, newest first. */
export async function approvals(context: Context, query: Readonly<Record<string, string>>): Promise<number> {
  const page = await context.client.approvals(query);
  if (context.json) for (const approval of page.items) sayJson(context, approval);
  else {
    const screen = screenOf(context.terminal);
    const link = page.items.length === 0 ? [] : await linkLines(context, "/approvals", screen);
    printLines(context, [...approvalLines(page.items, screen), ...link]);
  }
  return ExitCode.ok;
}

/** Shows a tree in its current state; an ended tree with its receipt. */
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
  for (const { runId } of allAgents(root)) await reader.ask(runId);
  const screen = screenOf(context.terminal);
  const lines = [treeHeadline(root, reader.caps, screen), ...treeLines(root, reader.caps, screen)];
  printLines(
    context,
    result ? [...lines, "", ...receiptLines(root, result, screen).map(asTypedIn(context))] : lines,
  );
  return ExitCode.ok;
}

/** Returns the call that waits for approval, named by its own id, or by a run or tree in which it is the only one. */
export async function pendingApproval(context: Context, id: string): Promise<ApprovalRecord> {
  const { client } = context;
  const isApproval = id.includes(":");
  const { treeId, runId } = await client.runState(isApproval ? ApprovalId.tree(toApprovalId(id)) : id);
  const { items } = await client.approvals({
    tree: treeId,
    size: "1000",
    ...(!isApproval && { state: "pending" }),
  });
  const named = items.filter((item) =>
    isApproval ? item.id === id : !id.includes("~") || item.runId === runId,
  );
  const [only, ...more] = named;
  if (only && more.length === 0) return only;
  if (!only)
    throw new CliError(isApproval ? `no approval ${id}` : `nothing waits for approval in ${id}`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
    });
  if (!context.json) printLines(context, [...approvalLines(named, screenOf(context.terminal)), ""]);
  throw new CliError(`${named.length} calls wait for approval in ${id}: give the id of one approval`, {
    code: "ambiguous",
    exitCode: ExitCode.usage,
    hint: `reeve approve ${only.id}`,
  });
}

/** @throws CliError */
function toApprovalId(text: string): ApprovalId {
  try {
    return ApprovalId.parse(text);
  } catch (error) {
    throw new CliError(errorMessage(error), { code: "usage", exitCode: ExitCode.usage });
  }
}

function rootOf({ root, treeId }: TreeModel): AgentView {
  if (root) return root;
  throw new CliError(`tree ${treeId} has no events yet`, {
    code: "not-begun",
    exitCode: ExitCode.notFound,
  });
}
