import { isJsonObject, Json, type ChatMessage, type Envelope, type Input } from "#kernel";

/** A conversation in transit to the next agent. Plain data: it is the output of a run that hands off. */
export interface Pass {
  /** The name of the agent that takes over. */
  readonly to: string;
  /** The messages that it sees. */
  readonly messages: readonly ChatMessage[];
  /** The text of the last message. Empty: `messages` ends with the message to answer. */
  readonly note: string;
  /** The best answer so far: the last text of the agent that hands off, else the note. */
  readonly best: string;
}

/** The reserved key of a pass. A model cannot use it: `expectPlain` refuses answers and inputs that have it. */
const key = "~handoff";

/** Encodes and reads passes. */
export const Pass = {
  /** Returns the output of a run that hands off. */
  toOutput: (pass: Pass): Json => Json.of({ [key]: pass }),
  /** Reads a pass from an output. Null: the output is an answer. */
  fromOutput: (output: Json): Pass | null =>
    isJsonObject(output) && isJsonObject(output[key]) ? Json.as<Pass>(output[key]) : null,
  /** Returns the input of the run that takes over. */
  toInput: ({ note, messages }: Pass): Input => ({ text: note, data: Json.of({ [key]: { messages } }) }),
  /**
   * Returns the messages that a run takes over. Null: its input is not a handoff. Only a run of the same tree can give
   * one.
   */
  fromInput: (input: readonly Envelope[]): readonly ChatMessage[] | null => {
    const [first] = input;
    if (!first || input.length > 1 || first.from.kind !== "run" || !Pass.isReserved(first.data)) return null;
    const given = first.data[key];
    const messages = isJsonObject(given) ? given["messages"] : undefined;
    return Array.isArray(messages) ? Json.as<readonly ChatMessage[]>(messages) : null;
  },
  /** Whether a value has the reserved key: neither an answer of a model nor a task may have it. */
  isReserved: (value: unknown): value is Readonly<Record<typeof key, Json>> =>
    isJsonObject(value) && value[key] !== undefined,
} as const;
