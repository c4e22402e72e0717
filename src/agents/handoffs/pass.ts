import { isJsonObject, Json, type ChatMessage, type Envelope, type Input } from "#kernel";

/** A conversation on its way to the next agent. Plain data: it is the output of a run that hands off. */
export interface Pass {
  /** The name of the agent that takes over. */
  readonly to: string;
  /** The messages that it sees. */
  readonly messages: readonly ChatMessage[];
  /** The last message, in words; empty: `messages` ends with the message to answer. */
  readonly note: string;
  /** The best answer so far: the last text of the agent that hands off, else the note. */
  readonly best: string;
}

/** A model cannot name it: `expectPlain` refuses answers and inputs that have it. */
const key = "~handoff";

/** Encodes and reads passes. */
export const Pass = {
  /** The output of a run that hands off to another agent. */
  toOutput: (pass: Pass): Json => Json.of({ [key]: pass }),
  /** Null: the output is an answer. */
  fromOutput: (output: Json): Pass | null =>
    isJsonObject(output) && isJsonObject(output[key]) ? Json.as<Pass>(output[key]) : null,
  /** The input of the run that takes over. */
  toInput: ({ note, messages }: Pass): Input => ({ text: note, data: Json.of({ [key]: { messages } }) }),
  /** The messages that a run takes over; null: its input is no handoff. Only a run of the same tree can give one. */
  fromInput: (input: readonly Envelope[]): readonly ChatMessage[] | null => {
    const [first] = input;
    if (!first || input.length > 1 || first.from.kind !== "run" || !Pass.isReserved(first.data)) return null;
    const given = first.data[key];
    const messages = isJsonObject(given) ? given["messages"] : undefined;
    return Array.isArray(messages) ? Json.as<readonly ChatMessage[]>(messages) : null;
  },
  /** Whether a value has the key that stands for a handoff: neither an answer of a model nor a task may have it. */
  isReserved: (value: unknown): value is Readonly<Record<typeof key, Json>> =>
    isJsonObject(value) && value[key] !== undefined,
} as const;
