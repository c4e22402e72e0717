import { isJsonObject, type Json } from "#kernel";
import type { ProviderRequest } from "./provider-request.ts";

/** Files that a request carries, and their bytes. */
export interface AttachedFiles {
  readonly files: number;
  readonly fileBytes: number;
}

/** Counts the files of a request whose bytes are in it. */
export function countFiles({ messages }: ProviderRequest): AttachedFiles {
  let files = 0;
  let fileBytes = 0;
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const base64 = part.type === "other" ? findBase64(part.raw) : null;
    if (base64 === null) continue;
    files += 1;
    fileBytes += Buffer.byteLength(base64, "base64");
  }
  return { files, fileBytes };
}

/** The fields with the bytes of a file: Anthropic, OpenAI's chat, OpenAI's responses. */
const places = [
  ["source", "data"],
  ["image_url", "url"],
  ["file", "file_data"],
  ["input_audio", "data"],
  ["image_url"],
  ["file_data"],
] as const;

function findBase64(raw: Json): string | null {
  for (const path of places) {
    const found = path.reduce<Json | undefined>(
      (value, name) => (isJsonObject(value) ? value[name] : undefined),
      raw,
    );
    if (typeof found !== "string" || /^https?:/.test(found)) continue;
    return found.startsWith("data:") ? found.slice(found.indexOf(",") + 1) : found;
  }
  return null;
}
