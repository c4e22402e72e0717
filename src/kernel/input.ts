import { ReeveError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { FileBlock } from "./message.ts";

/** A file that a caller gives: an image, a document, a sound. */
export interface InputFile {
  /** For example `image/png`. */
  readonly mediaType: string;
  /** Its bytes; a text is their base64. */
  readonly data: Uint8Array | string;
  readonly name?: string | undefined;
}

/** Content for a run: at least one of its parts. */
export interface InputContent {
  readonly text?: string | undefined;
  /** Structured data. A model reads it as JSON. */
  readonly data?: Json | undefined;
  /** New files, or files of a message that the caller passes on. */
  readonly files?: readonly (InputFile | FileBlock)[] | undefined;
}

/** The input of a run: a text, or content with data and files. */
export type Input = string | InputContent;

/** Limits of one input. Input over a limit is refused before any of it is stored. */
export interface InputLimits {
  /** Default: 20. */
  readonly maxFiles?: number | undefined;
  /** Bytes of one file. Default: 20,000,000. */
  readonly maxFileBytes?: number | undefined;
  /** Bytes of all files together. Default: 40,000,000. */
  readonly maxTotalBytes?: number | undefined;
  /** Accepted media types. `image/*` matches every image. Default: images, audio, video, texts, PDF and JSON. */
  readonly mediaTypes?: readonly string[] | undefined;
}

/** Input that a run cannot be given: it is empty, or a file of it is not allowed. */
export class InvalidInputError extends ReeveError {
  readonly code = "invalid-input";
  readonly problem: string;

  constructor({ problem }: { readonly problem: string }) {
    super(`the input is not accepted: ${problem}`);
    this.problem = problem;
  }
}
