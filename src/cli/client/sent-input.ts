import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { Json } from "#kernel";
import type { SentInput } from "#client";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";

/** Media types by the end of a file's name. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".json": "application/json",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
  ".mp3": "audio/mpeg",
  ".wav": "audio/wav",
  ".mp4": "video/mp4",
};

/** The files and data that go with a text on the command line. */
export interface InputFlags {
  /** Paths of files. */
  readonly file?: readonly string[];
  readonly data?: Json;
}

/** Returns a text with its data and files. @throws CliError for a file that cannot be read or has an unknown type. */
export async function readSentInput(text: string, flags: InputFlags, folder: string): Promise<SentInput> {
  const { file: paths = [], data } = flags;
  if (paths.length === 0 && data === undefined) return text;
  const files = await Promise.all(paths.map((path) => readOne(path, folder)));
  return {
    ...(text !== "" && { text }),
    ...(data !== undefined && { data }),
    ...(files.length > 0 && { files }),
  };
}

async function readOne(path: string, folder: string) {
  const mediaType = mediaTypes[extname(path).toLowerCase()];
  if (mediaType === undefined)
    throw new CliError(`${path}: unknown file type`, {
      code: "usage",
      exitCode: ExitCode.usage,
      hint: `supported file types: ${Object.keys(mediaTypes).join(", ")}`,
    });
  try {
    const bytes = await readFile(resolve(folder, path));
    return { mediaType, name: basename(path), data: bytes.toString("base64") };
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new CliError(`${path}: cannot be read (${why})`, {
      code: "usage",
      exitCode: ExitCode.usage,
      hint: null,
    });
  }
}
