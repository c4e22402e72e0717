import { tool } from "#agents";
import type { Tool, ToolFlow } from "#kernel";
import { objectInput } from "../object-input.ts";
import { parseRelativePath } from "../relative-path.ts";
import { RootFolder } from "./root-folder.ts";

/** Settings of the file tools. */
export interface FilesOptions extends Pick<ToolFlow, "trust" | "sensitivity"> {
  /** Bytes of one result of `read_file`. Default 100,000. */
  readonly maxReadBytes?: number | undefined;
  /** Bytes of a file that is written. Default 1,000,000. */
  readonly maxWriteBytes?: number | undefined;
  /** Entries of a folder that is listed. Default 1,000. */
  readonly maxEntries?: number | undefined;
  /** Whether names that begin with a dot can be read, listed and written: .git, .env. Default false. */
  readonly hidden?: boolean | undefined;
}

/** The tools of one folder. */
export interface FileTools {
  /** `read_file`: the text of a file, in parts if it is long. */
  readonly read: Tool;
  /** `list_files`: the names in a folder. */
  readonly list: Tool;
  /** `write_file`, of risk `high`: creates a file or replaces it. */
  readonly write: Tool;
}

/**
 * Creates tools to read, list and write the files of one folder. No link is followed, and nothing outside the folder is
 * opened, even while another process changes it. Results are untrusted and private unless the options say otherwise: a
 * file may hold content that another run has fetched.
 * @throws TypeError unless `root` is a folder, and this is Linux.
 */
export function files(root: string, options: FilesOptions = {}): FileTools {
  const { maxReadBytes = 100_000, maxWriteBytes = 1_000_000, maxEntries = 1_000, hidden = false } = options;
  const { trust = "untrusted", sensitivity = "private" } = options;
  const folder = new RootFolder(root);
  const brings = { trust, sensitivity, idempotent: true } as const;
  const parse = (path: string): readonly string[] => parseRelativePath(path, { hidden });
  const fileProblem = (path: string): string | null => {
    const problem = catchMessage(() => parse(path));
    if (problem !== null) return problem;
    return parse(path).length === 0 || path.endsWith("/")
      ? `path ${JSON.stringify(path)} is not the path of a file`
      : null;
  };
  return {
    read: tool<ReadInput>({
      name: "read_file",
      description: "Reads a text file.",
      input: readInput(fileProblem),
      risk: "safe",
      ...brings,
      execute: async ({ path, from }) => {
        const { bytes, size } = await folder.read(parse(path), from, maxReadBytes);
        return toFileText(path, { bytes, size, from });
      },
    }),
    list: tool<ListInput>({
      name: "list_files",
      description: "Lists the files and folders of a folder.",
      input: listInput((path) => catchMessage(() => parse(path))),
      risk: "safe",
      ...brings,
      execute: ({ path }) => folder.list(parse(path), { maxEntries, hidden }),
    }),
    write: tool<WriteInput>({
      name: "write_file",
      description: "Creates a text file with its folders, or replaces one.",
      input: writeInput(fileProblem, maxWriteBytes),
      risk: "high",
      ...brings,
      egress: false,
      execute: async ({ path, text }) => {
        const bytes = Buffer.from(text);
        await folder.write(parse(path), bytes);
        return { path, bytes: bytes.length };
      },
    }),
  };
}

/** Returns the message of the error that a function throws; null: it throws none. */
function catchMessage(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the problem of a path. Null if it is valid. An invalid path is invalid input, so the tool is not called. */
type FindPathProblem = (path: string) => string | null;

const pathSchema = {
  type: "string",
  description: "Path from the root folder, such as reports/may.md",
  maxLength: 1024,
};

/** Returns the path with the other properties of an input, or its problem. */
function withPath<Rest extends object>(
  path: unknown,
  find: FindPathProblem,
  rest: Rest,
): (Rest & { readonly path: string }) | string {
  return typeof path === "string" ? (find(path) ?? { path, ...rest }) : "path must be a string";
}

interface ListInput {
  readonly path: string;
}

const listInput = (find: FindPathProblem) =>
  objectInput<ListInput>({
    properties: { path: { ...pathSchema, description: "Path of the folder; . is the root folder" } },
    required: ["path"],
    check: ({ path }) => withPath(path, find, {}),
  });

interface WriteInput {
  readonly path: string;
  readonly text: string;
}

const writeInput = (find: FindPathProblem, maxBytes: number) =>
  objectInput<WriteInput>({
    properties: { path: pathSchema, text: { type: "string", description: "The whole text of the file" } },
    required: ["path", "text"],
    check: ({ path, text }) => {
      if (typeof text !== "string") return "text must be a string";
      const bytes = Buffer.byteLength(text);
      if (bytes > maxBytes) return `the text has ${bytes} bytes; at most ${maxBytes} are allowed`;
      return withPath(path, find, { text });
    },
  });

interface ReadInput {
  readonly path: string;
  readonly from: number;
}

const readInput = (find: FindPathProblem) =>
  objectInput<ReadInput>({
    properties: {
      path: pathSchema,
      from: { type: "integer", minimum: 0, description: "First byte to read. Default 0." },
    },
    required: ["path"],
    check: ({ path, from = 0 }) => {
      if (typeof from !== "number" || !Number.isSafeInteger(from) || from < 0)
        return "from must be an integer >= 0";
      return withPath(path, find, { from });
    },
  });

/** Decodes a part of a file up to the last whole character, and returns where the next part begins. */
function toFileText(
  path: string,
  { bytes, size, from }: { readonly bytes: Uint8Array; readonly size: number; readonly from: number },
): string {
  const isLast = from + bytes.length >= size;
  const whole = isLast ? bytes : bytes.subarray(0, bytes.length - countCutBytes(bytes));
  const next = from + whole.length;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(whole);
  } catch (cause) {
    throw new Error(`${path} is not UTF-8 text from byte ${from}`, { cause });
  }
  return next < size ? `${text}\n[${size - next} more bytes: continue from ${next}]` : text;
}

/** Returns the number of bytes at the end that begin a character and do not end it. */
function countCutBytes(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count] ?? 0;
    if (byte >= 0xc0) return count < sequenceLength(byte) ? count : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

const sequenceLength = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2);
