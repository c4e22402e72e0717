import { randomUUID } from "node:crypto";
import { ChatMessage, EntryId, type EventType, type RunId, type RunResult, type TreeId } from "#kernel";
import { errorMessage } from "#base";
import { clean, cleanLines, reasonText } from "#view";
import { followRun } from "../client/follow.ts";
import type { StartBody } from "../client/reeve-client.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { AnswerWriter } from "../live/answer-writer.ts";
import { eventLine } from "../live/event-line.ts";
import { paintOf } from "../terminal.ts";
import type { Paint } from "../text/paint.ts";
import { asTypedIn, type Context, printLines, sayJson } from "./command.ts";

/** The conversation to take part in. */
export type ChatOptions = Pick<StartBody, "agent" | "user" | "session" | "budget">;

const commands = "/history  /retry  /compact  /new  /exit";
/** Events that the user sees before the answer. */
const told: ReadonlySet<string> = new Set(["tool.start", "approval.requested"] satisfies EventType[]);
/** The messages that a conversation is continued with on the screen. */
const reminded = 4;

/** Takes messages, line by line, and writes the answers, until the input ends. */
export async function chat(context: Context, options: ChatOptions): Promise<number> {
  await checkAgent(context, options.agent);
  const talk = new Chat(context, options);
  const lines = context.terminal.lines();
  try {
    await talk.begin();
    for (;;) {
      const line = await lines.read("> ");
      if (line === null || line.trim() === "/exit") return talk.leave();
      if (line.trim() !== "" && !(await talk.take(line.trim()))) return talk.leave();
    }
  } finally {
    lines.close();
  }
}

/** A conversation at a terminal. Everything that lasts is on the server. */
class Chat {
  readonly #context: Context;
  readonly #options: ChatOptions;
  readonly #paint: Paint;
  readonly #isTyped: boolean;
  #session: string;
  /** The last message that was sent from here. */
  #last: { readonly text: string; readonly run: RunId } | null = null;
  #exitCode: number = ExitCode.ok;

  constructor(context: Context, options: ChatOptions) {
    this.#context = context;
    this.#options = options;
    this.#paint = paintOf(context.terminal, context.terminal.errors);
    this.#isTyped = context.terminal.out.isTTY && !context.json;
    this.#session = options.session ?? randomUUID();
  }

  /** Prints the conversation's id and, if it exists already, its last messages. */
  async begin(): Promise<void> {
    this.#tell(`session ${this.#session}${this.#isTyped ? ` · ${commands}` : ""}`);
    if (this.#isTyped && this.#options.session !== undefined) await this.#history(reminded);
  }

  /** Handles a line: a command or a message. Returns false when the chat ends. */
  async take(line: string): Promise<boolean> {
    try {
      if (line === "/history") await this.#history();
      else if (line === "/new") this.#begin(randomUUID());
      else if (line === "/compact") await this.#compact();
      else if (line === "/retry") return await this.#retry();
      else if (/^\/\w*$/.test(line)) this.#tell(`unknown command ${line}; commands: ${commands}`);
      else return await this.#turn(line);
      return true;
    } catch (error) {
      if (!this.#isTyped || !(error instanceof CliError)) throw error;
      // A server that is away may come back: the conversation is there, not here.
      this.#tell(`${this.#paint("bad", "reeve:")} ${clean(error.message)}`);
      if (error.hint !== null)
        this.#tell(this.#paint("faint", `  → ${asTypedIn(this.#context)(error.hint)}`));
      return true;
    }
  }

  leave(): number {
    const { agent, user } = this.#options;
    const again = `${this.#context.terminal.command} chat ${agent} --session ${this.#session}`;
    if (this.#isTyped && this.#last)
      this.#tell(
        this.#paint("faint", `continue with: ${again}${user === undefined ? "" : ` --user ${user}`}`),
      );
    return this.#exitCode;
  }

  #begin(session: string): void {
    this.#session = session;
    this.#last = null;
    this.#tell(`session ${session}`);
  }

  /** Sends the last message again, in its own place. */
  async #retry(): Promise<boolean> {
    const { items } = await this.#messages();
    const sent = this.#last;
    const at = sent ? items.findIndex(({ id }) => id === EntryId.ofRun(sent.run, 1)) : findUser(items);
    const found = items[at];
    const text = sent?.text ?? (found && ChatMessage.text(found));
    if (text === undefined) {
      this.#tell("no message to send again");
      return true;
    }
    // A message that left no trace is sent again where it was.
    return this.#turn(text, found && { after: items[at + 1]?.id ?? null });
  }

  /** Compacts the oldest part of the conversation. */
  async #compact(): Promise<void> {
    const { client } = this.#context;
    const { user } = this.#options;
    const { treeId } = await client.compact(this.#session, user === undefined ? {} : { user });
    for await (const _ of followRun(client, treeId, { signal: new AbortController().signal, deltas: false }));
    const result = await client.result(treeId);
    this.#tell(typeof result?.output === "string" ? "compacted" : "nothing to compact");
  }

  /** Sends one message and shows its answer. Returns false if the user leaves. */
  async #turn(text: string, place: Pick<StartBody, "after"> = {}): Promise<boolean> {
    const { client, terminal, json } = this.#context;
    const body = { ...this.#options, session: this.#session, ...place };
    const { treeId, runId } = await client.start({ ...body, input: text, onBusy: "queue" });
    this.#last = { text, run: runId };
    const answer = new AnswerWriter(terminal.out, runId);
    const leave = new AbortController();
    let isCancelled = false;
    const release = terminal.onInterrupt(() => {
      answer.interrupt();
      if (isCancelled) leave.abort();
      isCancelled = true;
      client.cancel(treeId, "interrupted").catch((error: unknown) => this.#tell(errorMessage(error)));
    });
    try {
      await this.#follow(treeId, answer, leave.signal);
      const result = await client.result(treeId);
      if (!result) throw new TypeError(`tree ${treeId} has ended without a result`);
      if (json) sayJson(this.#context, { session: this.#session, ...result });
      else this.#end(treeId, answer, result);
      this.#exitCode = exitCodeOf(result.status);
      return this.#isTyped || !isCancelled;
    } catch (error) {
      if (!leave.signal.aborted) throw error;
      this.#exitCode = ExitCode.detached;
      return false;
    } finally {
      release();
    }
  }

  async #follow(treeId: TreeId, answer: AnswerWriter, signal: AbortSignal): Promise<void> {
    const { client, terminal } = this.#context;
    for await (const followed of followRun(client, treeId, { signal, deltas: this.#isTyped })) {
      if (followed.kind === "delta") answer.applyDelta(followed.delta);
      if (!this.#isTyped) continue;
      if (followed.kind === "lost") answer.line(this.#paint("faint", "waiting for the server"));
      if (followed.kind !== "event" || !told.has(followed.event.type)) continue;
      const tone = followed.event.type === "approval.requested" ? "waiting" : "faint";
      answer.line(this.#paint(tone, eventLine(followed.event, terminal.command) ?? ""));
    }
  }

  #end(treeId: TreeId, answer: AnswerWriter, { status, stopReason, output }: RunResult): void {
    answer.end(output);
    if (status === "completed") return;
    const why = status === "cancelled" ? "" : `: ${reasonText(stopReason)}`;
    this.#tell(this.#paint("bad", `${status}${why}`));
    if (status === "failed") this.#tell(asTypedIn(this.#context)(`  → reeve why ${treeId}`));
  }

  /** Shows the newest messages of user and agent, `count` at most. */
  async #history(count = 50): Promise<void> {
    const { items } = await this.#messages();
    const spoken = items.filter(
      (message) =>
        (message.role === "user" || message.role === "assistant") && ChatMessage.text(message) !== "",
    );
    for (const message of spoken.slice(0, count).toReversed()) {
      const lines = cleanLines(ChatMessage.text(message));
      const isUser = message.role === "user";
      printLines(this.#context, isUser ? lines.map((line) => this.#paint("strong", `> ${line}`)) : lines);
    }
  }

  /** The newest messages; none of a conversation that has not begun. */
  async #messages(): ReturnType<Context["client"]["messages"]> {
    const { user } = this.#options;
    const query = { size: "50", ...(user !== undefined && { user }) };
    try {
      return await this.#context.client.messages(this.#session, query);
    } catch (error) {
      if (error instanceof CliError && error.code === "not-found") return { items: [], next: null };
      throw error;
    }
  }

  /** Answers are on standard output, everything about them on standard error. */
  #tell(line: string): void {
    this.#context.terminal.errors.write(`${line}\n`);
  }
}

const findUser = (messages: readonly ChatMessage[]): number =>
  messages.findIndex(({ role }) => role === "user");

/** @throws CliError that names the agents there are, if it is none of them. */
async function checkAgent({ client }: Context, agent: string): Promise<void> {
  const agents = await client.agents().catch((error: unknown) => {
    // A key may talk to an agent and not list agents.
    if (error instanceof CliError && error.exitCode === ExitCode.refused) return null;
    throw error;
  });
  if (!agents || agents.some(({ name }) => name === agent)) return;
  const hint = `agents: ${agents.map(({ name }) => name).join(", ")}`;
  throw new CliError(`no agent ${agent}`, { code: "not-found", exitCode: ExitCode.notFound, hint });
}
