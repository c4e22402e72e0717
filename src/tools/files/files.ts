import { tool, textInput } from "#agents";
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

const pathField = { description: "Path from the root folder, such as reports/may.md", max: 1024 };

/**
 * Lets agents read, list and write the files of one folder. No link is followed, and nothing outside the folder is opened,
 * also while another process changes it. Results are untrusted and private unless the options say otherwise: a file may
 * hold what another run has fetched.
 *
 * @throws TypeError unless `root` is a folder, and this is Linux.
 */
export function files(root: string, options: FilesOptions = {}): FileTools {
  const { maxReadBytes = 100_000, maxWriteBytes = 1_000_000, maxEntries = 1_000, hidden = false } = options;
  const { trust = "untrusted", sensitivity = "private" } = options;
  const folder = new RootFolder(root);
  const brings = { trust, sensitivity, idempotent: true } as const;
  const parse = (path: string): readonly string[] => parseRelativePath(path, { hidden });
  const parseFile = (path: string): readonly string[] => {
    const names = parse(path);
    if (names.length === 0 || path.endsWith("/"))
      throw new Error(`path ${JSON.stringify(path)} names no file`);
    return names;
  };
  return {
    read: tool<ReadInput>({
      name: "read_file",
      description: "Reads a text file.",
      input: readInput,
      risk: "safe",
      ...brings,
      execute: async ({ path, from }) => {
        const { bytes, size } = await folder.read(parseFile(path), from, maxReadBytes);
        return toText(path, { bytes, size, from });
      },
    }),
    list: tool<{ readonly path: string }>({
      name: "list_files",
      description: "Lists the files and folders of a folder.",
      input: textInput({ path: { ...pathField, description: "Path of the folder; . is the root folder" } }),
      risk: "safe",
      ...brings,
      execute: ({ path }) => folder.list(parse(path), { maxEntries, hidden }),
    }),
    write: tool<{ readonly path: string; readonly text: string }>({
      name: "write_file",
      description: "Creates a text file with its folders, or replaces one.",
      input: textInput({ path: pathField, text: { description: "The whole text", max: maxWriteBytes } }),
      risk: "high",
      ...brings,
      outside: false,
      execute: async ({ path, text }) => {
        const bytes = Buffer.from(text);
        if (bytes.length > maxWriteBytes)
          throw new Error(`the text has ${bytes.length} bytes; at most ${maxWriteBytes} are written`);
        await folder.write(parseFile(path), bytes);
        return { path, bytes: bytes.length };
      },
    }),
  };
}

interface ReadInput {
  readonly path: string;
  readonly from: number;
}

const readInput = objectInput<ReadInput>({
  properties: {
    path: { type: "string", description: pathField.description, maxLength: pathField.max },
    from: { type: "integer", minimum: 0, description: "First byte to read. Default 0." },
  },
  required: ["path"],
  check: ({ path, from = 0 }) => {
    if (typeof path !== "string") return "path: a text is needed";
    if (typeof from !== "number" || !Number.isSafeInteger(from) || from < 0)
      return "from: an integer >= 0 is needed";
    return { path, from };
  },
});

/** Decodes a part of a file, up to the last whole character, and says where the next part begins. */
function toText(
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
    throw new Error(`${path} is no UTF-8 text from byte ${from}`, { cause });
  }
  return next < size ? `${text}\n[${size - next} more bytes: read on from ${next}]` : text;
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
