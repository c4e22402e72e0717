import type { Json } from "#kernel";

/** An input in the form sent to a server: a text, or text with data and files. */
export type SentInput =
  | string
  | {
      readonly text?: string;
      readonly data?: Json;
      readonly files?: readonly {
        readonly mediaType: string;
        readonly name: string;
        /** Base64. */
        readonly data: string;
      }[];
    };

/** Readers of {@link SentInput}. */
export const SentInput = {
  fields: (input: SentInput): Exclude<SentInput, string> =>
    typeof input === "string" ? { text: input } : input,
} as const;
