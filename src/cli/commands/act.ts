import { isJsonObject, Json, type AuditHead, type Priority, type Usage } from "#kernel";
import type { TopUpAmounts } from "#runtime";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { approvalText } from "../views/approval-lines.ts";
import { type Context, printLines, sayJson } from "./command.ts";
import { pendingApproval } from "./look.ts";
import type { SentInput } from "#client";
import { formatCounted, exactUsd } from "#view";

/** Options of a decision. */
export interface DecideOptions {
  readonly reason?: string;
  /** The arguments to call with instead. */
  readonly arguments?: Json;
  readonly remember?: boolean;
}

/** Decides an approval. */
export async function decideApproval(
  context: Context,
  { verb, id }: { readonly verb: "approve" | "deny" | "edit"; readonly id: string },
  options: DecideOptions,
): Promise<number> {
  const record = await pendingApproval(context, id);
  // The hash of the call that is shown goes with the decision: another call under this id is refused.
  const { hash, id: approval } = record;
  if (!context.json) printLines(context, approvalText(record, screenOf(context.terminal)));
  const { decision } = await context.client.decide(approval, verb, { ...options, hash });
  return reportDone(context, { approval, decision, hash }, `${decision} ${approval}`);
}

/** Answers a question. The answer to a form is JSON, any other is text. */
export async function answerQuestion(context: Context, id: string, text: string): Promise<number> {
  const { asks, arguments: question, id: approval } = await pendingApproval(context, id);
  if (!asks)
    throw new CliError(`${approval} is a call to approve, not a question`, {
      code: "no-question",
      exitCode: ExitCode.usage,
      hint: `reeve approve ${approval}`,
    });
  const isForm = isJsonObject(question) && question["fields"] !== undefined;
  const given = isForm ? parseForm(text) : text;
  return decideApproval(context, { verb: "edit", id: approval }, { arguments: given });
}

/** @throws CliError unless a text is JSON. */
function parseForm(text: string): Json {
  try {
    return Json.as(JSON.parse(text));
  } catch {
    const shown = `the question has a form: answer with its fields as JSON, got ${JSON.stringify(text.slice(0, 100))}`;
    throw new CliError(shown, { code: "bad-answer", exitCode: ExitCode.usage });
  }
}

export async function pauseRun(context: Context, id: string): Promise<number> {
  await context.client.pause(id);
  return reportDone(context, { run: id, paused: true }, `${id}: pausing (stops before its next step)`);
}

export async function resumeRun(context: Context, id: string): Promise<number> {
  await context.client.resume(id);
  return reportDone(context, { run: id, resumed: true }, `${id}: resumed`);
}

export async function signal(
  context: Context,
  id: string,
  { name, data }: { readonly name: string; readonly data: Json },
): Promise<number> {
  await context.client.signal(id, name, data);
  return reportDone(context, { run: id, signal: name }, `${id}: received signal ${name}`);
}

export async function steer(context: Context, id: string, input: SentInput): Promise<number> {
  await context.client.steer(id, input);
  return reportDone(
    context,
    { run: id, steered: true },
    `${id}: reads the message before its next model call`,
  );
}

export async function followUp(context: Context, id: string, input: SentInput): Promise<number> {
  await context.client.followUp(id, input);
  return reportDone(context, { run: id, followedUp: true }, `${id}: reads the message when it would stop`);
}

/** Reports the real usage of a call in doubt. */
export async function reconcileCall(
  context: Context,
  id: string,
  { attempt, usage }: { readonly attempt: string; readonly usage: Usage },
): Promise<number> {
  const reconciled = await context.client.reconcile(id, attempt, usage);
  if (!reconciled)
    throw new CliError(`attempt ${attempt} of ${id} is not in doubt`, {
      code: "not-in-doubt",
      exitCode: ExitCode.refused,
    });
  return reportDone(context, { run: id, attempt, reconciled }, `${attempt}: settled`);
}

/** Stops a run and its descendants, and reports the result. */
export async function cancelRun(context: Context, id: string, reason: string): Promise<number> {
  const receipt = await context.client.cancel(id, reason);
  const after = receipt.runs.reduce((sum, { spentAfter }) => sum + spentAfter, 0);
  const spent = after > 0 ? `, ${exactUsd(after)} spent after the cancel` : "";
  const words =
    receipt.runs.length === 0
      ? `${id}: had already ended`
      : `${formatCounted(receipt.runs.length, "run")} stopped${spent}`;
  return reportDone(context, receipt, words);
}

export async function topUpRun(context: Context, id: string, amounts: TopUpAmounts): Promise<number> {
  await context.client.topUp(id, amounts);
  return reportDone(context, { run: id, ...amounts }, `${id}: topped up`);
}

export async function reprioritizeRun(context: Context, id: string, priority: Priority): Promise<number> {
  await context.client.reprioritize(id, priority);
  return reportDone(context, { run: id, priority }, `${id}: priority ${priority}`);
}

/** Walks the whole audit chain; with a head that it once had, also to see whether links were cut off. */
export async function verifyAudit(context: Context, head?: AuditHead): Promise<number> {
  const verdict = await context.client.verifyAudit(head);
  const words = verdict.ok
    ? `intact: ${formatCounted(verdict.length, "link")}${verdict.head ? `, head ${verdict.head.index}:${verdict.head.hash}` : ""}`
    : `broken at link ${verdict.at}: ${verdict.fault}`;
  reportDone(context, verdict, words);
  return verdict.ok ? ExitCode.ok : ExitCode.broken;
}

function reportDone(context: Context, value: object, words: string): number {
  if (context.json) sayJson(context, value);
  else printLines(context, [words]);
  return ExitCode.ok;
}
