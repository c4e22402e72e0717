import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isJsonObject, type Json, type JsonObject } from "#kernel";

/** A tool of a server, as approved. */
export interface McpPin {
  /** The server's name of it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The hash of name, description and schema. */
  readonly hash: string;
}

/** The approved tools of one server. */
export interface McpPins {
  readonly tools: readonly McpPin[];
}

/** A file with the pins of all servers of a program. */
export interface McpPinsFile {
  readonly servers: Readonly<Record<string, McpPins>>;
}

/** The name of the file of pins. */
const defaultPinsFile = "mcp-pins.json";

/** A tool, as a server lists it. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
}

/** Pins a tool as currently listed. */
export function pinOf({ name, description = "", inputSchema }: ListedTool): McpPin {
  const schema: Json = JSON.parse(JSON.stringify(inputSchema ?? {}));
  const pinned = { name, description, inputSchema: isJsonObject(schema) ? schema : {} };
  return { ...pinned, hash: hashPin(pinned) };
}

/** Hashes name, description and schema. The order of fields does not count. */
const hashPin = ({ name, description, inputSchema }: Omit<McpPin, "hash">): string =>
  hash("sha256", JSON.stringify(sortFields([name, description, inputSchema])));

function sortFields(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortFields);
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sortFields(field ?? null)]));
}

/** Reads the pins of a server. @throws TypeError if there are none, or they are not as they were written. */
export function readPins(server: string, from: McpPins | string | URL = defaultPinsFile): McpPins {
  const isData = typeof from === "object" && !(from instanceof URL);
  const pins = isData ? from : (readPinsFile(from)?.servers[server] ?? null);
  if (!pins)
    throw new TypeError(
      `no tools of MCP server ${server} were approved${isData ? "" : ` in ${String(from)}`}: run reeve mcp pin ${server}`,
    );
  for (const pin of pins.tools)
    if (hashPin(pin) !== pin.hash)
      throw new TypeError(
        `the pin of tool ${pin.name} of MCP server ${server} was edited: run reeve mcp pin ${server}`,
      );
  return pins;
}

/** Reads a file of pins; null: there is none. @throws TypeError if it is something else. */
export function readPinsFile(path: string | URL): McpPinsFile | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  const file: Json = JSON.parse(text);
  const servers = isJsonObject(file) ? file["servers"] : undefined;
  if (!isJsonObject(servers)) throw new TypeError(`${String(path)} is not a pins file: it has no servers`);
  return {
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, pins]) => [name, { tools: toPins(pins ?? null) }]),
    ),
  };
}

function toPins(pins: Json): readonly McpPin[] {
  const tools = isJsonObject(pins) ? pins["tools"] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((pin: Json) => {
    if (!isJsonObject(pin)) return [];
    const { name, description, inputSchema, hash: print } = pin;
    return typeof name === "string" &&
      typeof description === "string" &&
      typeof print === "string" &&
      isJsonObject(inputSchema)
      ? [{ name, description, inputSchema, hash: print }]
      : [];
  });
}

/** A difference between the approved tools and those a server lists. */
export interface PinChange {
  readonly tool: string;
  readonly kind: "new" | "changed" | "gone";
}

/** Compares the approved tools with those listed now. */
export function comparePins(approved: McpPins | null, listed: McpPins): readonly PinChange[] {
  const before = new Map(approved?.tools.map((pin) => [pin.name, pin.hash]));
  const now = new Set(listed.tools.map(({ name }) => name));
  const changes = listed.tools.flatMap(({ name, hash: print }): readonly PinChange[] => {
    const known = before.get(name);
    if (known === undefined) return [{ tool: name, kind: "new" }];
    return known === print ? [] : [{ tool: name, kind: "changed" }];
  });
  const gone = [...before.keys()].filter((name) => !now.has(name));
  return [...changes, ...gone.map((tool): PinChange => ({ tool, kind: "gone" }))];
}
