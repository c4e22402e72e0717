import {
  agent,
  ChatMessage,
  createRuntime,
  type Conversation,
  type Model,
  ModelError,
  type ModelRequest,
  type NumberedEvent,
  type RunHandle,
  type Runtime,
  SessionId,
} from "reeve";
import { Session, type SessionEntry, type Store } from "reeve/store";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect } from "vitest";
import { readAll } from "./read-all.ts";

export const price = { input: 1_000_000, output: 1_000_000 };

/** The text of a message, calls and results included. */
export function textOf(message: ChatMessage): string {
  return message.content
    .map((block) => {
      if (block.type === "text") return block.text;
      if (block.type === "tool-call") return `[calls ${block.name}]`;
      return block.type === "tool-result"
        ? block.content.map((part) => (part.type === "text" ? part.text : "")).join("")
        : "";
    })
    .join("");
}

export const sizeOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + Math.ceil(textOf(message).length / 4), 0);

export const isSummary = ({ messages }: ModelRequest): boolean =>
  messages[0]?.role === "system" && textOf(messages[0]).startsWith("You summarise");

/** A model with answers of about 60 tokens, whose summaries name the questions in their prompt. */
class TalkingModel implements Model {
  readonly id = "talking";
  readonly maxOutputTokens = 400;
  readonly price = price;
  readonly contextWindow: number | undefined;
  readonly requests: ModelRequest[] = [];
  /** Summaries fail while it is set. */
  fails = false;

  constructor(contextWindow: number | undefined) {
    this.contextWindow = contextWindow;
  }

  get summaries(): readonly ModelRequest[] {
    return this.requests.filter(isSummary);
  }

  get prompts(): readonly ModelRequest[] {
    return this.requests.filter((request) => !isSummary(request));
  }

  async generate(request: ModelRequest): ReturnType<Model["generate"]> {
    this.requests.push(request);
    const last = textOf(request.messages.at(-1) ?? ChatMessage.user(""));
    if (isSummary(request) && this.fails) throw new ModelError({ kind: "auth", message: "no" });
    const questions = [...new Set(last.matchAll(/question \d+/g).map(([found]) => found))];
    const text = isSummary(request) ? `SUMMARY of ${questions.join(", ")}` : `answer: ${"words ".repeat(40)}`;
    const usage = { input: sizeOf(request.messages), output: 60 };
    return { message: ChatMessage.assistant(text), usage, finishReason: "stop" };
  }
}

export const question = (number: number): string => `question ${number} ${"please ".repeat(20)}`;

interface Talked {
  readonly talk: Conversation<string>;
  readonly runtime: Runtime;
  readonly model: TalkingModel;
}

/** A conversation with a model of 1,200 tokens, 400 of them kept free. */
export async function open(
  options: Partial<Parameters<typeof agent>[0]> = {},
  { replayed = false, store = memoryStore(), contextWindow = 1_200 }: OpenOptions = {},
): Promise<Talked> {
  const model = new TalkingModel(contextWindow ?? undefined);
  const compaction = { reserve: 400, keepRecent: 200 };
  const lead = agent({ name: "lead", compaction, ...options, model, output: undefined });
  const runtime = createRuntime({ agents: [lead], store, engine: local({ replayEveryStep: replayed }) });
  return { runtime, model, talk: await runtime.sessions.create(lead, { id: "talk", user: "ada" }) };
}

interface OpenOptions {
  readonly replayed?: boolean;
  readonly store?: Store;
  readonly contextWindow?: number | null;
}

export const eventsOf = async (run: RunHandle<unknown>): Promise<readonly NumberedEvent[]> =>
  readAll(run.events());

export async function entriesOf({ runtime, talk }: Talked): Promise<readonly SessionEntry[]> {
  const { userId } = await talk.head();
  return readAll(
    new Session(runtime.store.sessions, { tenantId: null }, { id: SessionId.of(talk.id), userId }).entries(),
  );
}

/** Takes turns, and returns what each cost and the events of the last. */
export async function take(talked: Talked, turns: number, from = 1): Promise<readonly number[]> {
  const costs: number[] = [];
  for (let number = from; number < from + turns; number++) {
    const { status, costMicros, error } = await talked.talk.invoke(question(number));
    expect([status, error]).toEqual(["completed", undefined]);
    costs.push(costMicros);
  }
  return costs;
}

export const compactionsOf = (
  entries: readonly SessionEntry[],
): readonly Extract<SessionEntry, { type: "compaction" }>[] =>
  entries.filter((entry) => entry.type === "compaction");
