import { hash } from "node:crypto";
import {
  type CallObject,
  type FileBlock,
  findJsonProblem,
  type Input,
  type InputFile,
  type InputLimits,
  InvalidInputError,
  type Json,
  TooLargeError,
} from "#kernel";
import { ContentPort, fingerprint } from "#base";

/*
 * Input on its way into a tree. `checkInput` checks it against the limits. `keepFiles` puts large files into the
 * content port of the tree. A message then carries names instead of bytes, and only a model call reads the bytes.
 */

/** Files up to this size stay in their message. */
const maxInlineBytes = 16_000;
const maxNameCharacters = 255;

const defaultLimits = {
  maxFiles: 20,
  maxFileBytes: 20_000_000,
  maxTotalBytes: 40_000_000,
  mediaTypes: ["image/*", "audio/*", "video/*", "text/*", "application/pdf", "application/json"],
} as const satisfies InputLimits;

/** A file as the caller gave it. */
interface GivenFile {
  readonly mediaType: string;
  readonly name?: string;
  readonly bytes: Uint8Array;
}

/** Input that is within its limits. */
export interface CheckedInput {
  readonly text: string;
  readonly data?: Json | undefined;
  readonly files: readonly (GivenFile | FileBlock)[];
}

/** Checks an input. @throws InvalidInputError, TooLargeError */
export function checkInput(input: Input, limits: InputLimits = {}): CheckedInput {
  if (typeof input === "string") return { text: input, files: [] };
  const { text = "", data, files = [] } = input;
  if (text === "" && data === undefined && files.length === 0)
    throw new InvalidInputError({ problem: "it is empty: give text, data or files" });
  const problem = data === undefined ? null : findJsonProblem(data);
  if (problem !== null) throw new InvalidInputError({ problem: `its data${problem}` });
  const { maxFiles = defaultLimits.maxFiles, maxTotalBytes = defaultLimits.maxTotalBytes } = limits;
  if (files.length > maxFiles)
    throw new InvalidInputError({ problem: `it has ${files.length} files: at most ${maxFiles} are allowed` });
  const checked = files.map((file, index) => checkFile(file, `file ${index + 1}`, limits));
  const total = checked.reduce((sum, file) => sum + ("bytes" in file ? file.bytes.length : 0), 0);
  if (total > maxTotalBytes)
    throw new TooLargeError({ what: "all files of the input", bytes: total, limit: maxTotalBytes });
  return { text, ...(data !== undefined && { data }), files: checked };
}

function checkFile(file: InputFile | FileBlock, what: string, limits: InputLimits): GivenFile | FileBlock {
  const { maxFileBytes = defaultLimits.maxFileBytes, mediaTypes = defaultLimits.mediaTypes } = limits;
  const { name } = file;
  const [given = ""] = file.mediaType.split(";");
  const mediaType = given.trim().toLowerCase();
  const isAllowed = mediaTypes.some((allowed) =>
    allowed.endsWith("/*") ? mediaType.startsWith(allowed.slice(0, -1)) : mediaType === allowed,
  );
  if (!/^[a-z]+\/[a-z\d.+-]{1,100}$/.test(mediaType) || !isAllowed)
    throw new InvalidInputError({
      problem: `${what} is ${JSON.stringify(mediaType.slice(0, 100))}: allowed are ${mediaTypes.join(", ")}`,
    });
  if (name !== undefined && (name.length > maxNameCharacters || name === "" || /\p{Cc}/u.test(name)))
    throw new InvalidInputError({
      problem: `the name of ${what} must have 1 to ${maxNameCharacters} characters and no control characters`,
    });
  if ("source" in file) return { ...file, mediaType };
  const bytes = typeof file.data === "string" ? fromBase64(file.data, what) : file.data;
  if (bytes.length === 0) throw new InvalidInputError({ problem: `${what} is empty` });
  if (bytes.length > maxFileBytes)
    throw new TooLargeError({ what: `${what} of the input`, bytes: bytes.length, limit: maxFileBytes });
  return { mediaType, bytes, ...(name !== undefined && { name }) };
}

function fromBase64(text: string, what: string): Uint8Array {
  if (text.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(text)) return Buffer.from(text, "base64");
  throw new InvalidInputError({ problem: `the data of ${what} is not base64` });
}

/**
 * Names bytes by a keyed hash. Equal bytes of one partition have the same name, and the name reveals nothing about
 * them.
 */
export type NameContent = (partition: string, bytes: Uint8Array) => Promise<string>;

/** The tree whose content port takes large files. */
interface FileKeeping {
  readonly call: CallObject;
  readonly nameContent: NameContent;
  /** The key of the tree. */
  readonly key: string;
}

/** Puts large files into the content port. Returns all files as blocks of a message. */
export async function keepFiles(
  files: CheckedInput["files"],
  { call, nameContent, key }: FileKeeping,
): Promise<readonly FileBlock[]> {
  const port = new ContentPort(call, key);
  const blocks: FileBlock[] = [];
  for (const file of files) {
    if (!("bytes" in file) || isSmall(file)) {
      blocks.push(toFileBlock(file));
      continue;
    }
    const { bytes, ...rest } = file;
    const content = await nameContent(key, bytes);
    await port.put(content, bytes, { expires: true });
    blocks.push({ type: "file", ...rest, source: { content, bytes: bytes.length } });
  }
  return blocks;
}

/** Returns files as blocks of a message. Null if one of them must go into the content port. */
export function toInlineBlocks(files: CheckedInput["files"]): readonly FileBlock[] | null {
  return files.every((file) => !("bytes" in file) || isSmall(file)) ? files.map(toFileBlock) : null;
}

const isSmall = ({ bytes }: GivenFile): boolean => bytes.length <= maxInlineBytes;

function toFileBlock(file: GivenFile | FileBlock): FileBlock {
  if (!("bytes" in file)) return file;
  const { bytes, ...rest } = file;
  return { type: "file", ...rest, source: { base64: Buffer.from(bytes).toString("base64") } };
}

/** Returns a text that differs if two inputs differ. For a plain text input, the text itself. */
export function inputKey({ text, data, files }: CheckedInput): string {
  if (data === undefined && files.length === 0) return text;
  const listed = files.map((file) => [
    file.mediaType,
    file.name ?? null,
    "bytes" in file ? hash("sha256", file.bytes) : file.source,
  ]);
  return JSON.stringify([text, data ?? null, listed]);
}

/** Returns the fingerprint of an input. */
export const inputPrint = (input: CheckedInput): string => fingerprint(inputKey(input));

/** The parts of a message that carry an input. */
export interface InputParts {
  readonly text: string;
  readonly data?: Json;
  readonly files?: readonly FileBlock[];
}

/** Returns an input as parts of a message. Absent parts are left out. */
export const toInputParts = ({ text, data }: CheckedInput, files: readonly FileBlock[]): InputParts => ({
  text,
  ...(data !== undefined && { data }),
  ...(files.length > 0 && { files }),
});
