import type { Input, InputFile, Json, JsonObject } from "#kernel";
import { refuseRequest, shape } from "../shape.ts";

const at = "messages.parts";

/** Returns the input that the parts of a user's message are: texts, files, and data by its name. @throws HttpError */
export function readInput(parts: readonly JsonObject[]): Input {
  const texts: string[] = [];
  const files: InputFile[] = [];
  const data: (readonly [string, Json])[] = [];
  for (const part of parts) {
    const { type } = part;
    if (type === "text" && typeof part["text"] === "string") texts.push(part["text"]);
    else if (type === "file") files.push(readFile(part));
    else if (typeof type === "string" && type.startsWith("data-") && part["data"] !== undefined)
      data.push([type.slice("data-".length), part["data"]]);
    else return refuseRequest(at, "each part must be text, a file or data");
  }
  const text = texts.join("\n");
  if (text === "" && files.length === 0 && data.length === 0) return refuseRequest(at, "must not be empty");
  if (files.length === 0 && data.length === 0) return text;
  return { text, files, ...(data.length > 0 && { data: Object.fromEntries(data) }) };
}

/** Never fetches a URL: the sender could make this machine send requests into its own network. */
function readFile({ mediaType, filename, url }: JsonObject): InputFile {
  if (typeof url !== "string" || !url.startsWith("data:"))
    return refuseRequest(`${at}.url`, "must be a data: URL (other URLs are not fetched)");
  const comma = url.indexOf(",");
  const head = url.slice("data:".length, Math.max(comma, 0));
  if (comma < 0 || !head.endsWith(";base64")) return refuseRequest(`${at}.url`, "must be a base64 data: URL");
  const type = shape.text({ max: 127 }).decode(mediaType ?? head.split(";", 1).join(), `${at}.mediaType`);
  const name = shape.optional(shape.text({ max: 255 })).decode(filename ?? undefined, `${at}.filename`);
  return { mediaType: type, data: url.slice(comma + 1), ...(name !== undefined && { name }) };
}
