import { tool } from "#agents";
import { ContentBlock, isJsonObject, Json, ToolResult, type JsonObject, type Tool } from "#kernel";
import { valueText } from "#base";
import type { Client } from "@modelcontextprotocol/client";
import type { Connection } from "./connection.ts";
import { toMcpBlock, toResource } from "./content.ts";
import type { CallSettings } from "./call-settings.ts";
import { asResult } from "./make-call.ts";
import { toStandardObjectSchema } from "./object-schema.ts";
import type { ToolTerms } from "./tool-terms.ts";

/** A tool that this side makes of a server's resources or prompts. */
export interface OwnTool {
  /** Its name without the server's. */
  readonly short: string;
  readonly make: (terms: ToolTerms) => Tool;
}

interface OwnToolOptions {
  readonly short: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly execute: (
    client: Client,
    input: JsonObject,
    options: { signal: AbortSignal; timeout: number },
  ) => Promise<readonly ContentBlock[]>;
}

const text = { type: "string" } as const;

/** Makes tools that list and read the resources of a server. */
export const resourceTools = (connection: Connection, settings: CallSettings): readonly OwnTool[] => [
  ownTool(connection, settings, {
    short: "list_resources",
    description: `Lists the resources of ${settings.server}: their addresses, names and types.`,
    schema: { type: "object", properties: {}, additionalProperties: false },
    execute: async (client, _, options) => {
      const { resources } = await client.listResources(undefined, options);
      const shown = resources.map(({ uri, name, mimeType }) => ({ uri, name, mimeType }));
      return [ContentBlock.text(JSON.stringify(shown))];
    },
  }),
  ownTool(connection, settings, {
    short: "read_resource",
    description: `Reads a resource of ${settings.server} by its address.`,
    schema: { type: "object", properties: { uri: text }, required: ["uri"], additionalProperties: false },
    execute: async (client, { uri }, options) => {
      const { contents } = await client.readResource(
        { uri: valueText(uri) },
        { ...options, cacheMode: "bypass" },
      );
      return contents.map((content) => toResource(Json.as<JsonObject>(Json.of(content))));
    },
  }),
];

/** Makes tools that list and get the prompts of a server. */
export const promptTools = (connection: Connection, settings: CallSettings): readonly OwnTool[] => [
  ownTool(connection, settings, {
    short: "list_prompts",
    description: `Lists the prompts of ${settings.server}: their names and arguments.`,
    schema: { type: "object", properties: {}, additionalProperties: false },
    execute: async (client, _, options) => {
      const { prompts } = await client.listPrompts(undefined, options);
      const shown = prompts.map(({ name, arguments: wanted }) => ({ name, arguments: wanted }));
      return [ContentBlock.text(JSON.stringify(shown))];
    },
  }),
  ownTool(connection, settings, {
    short: "get_prompt",
    description: `Gets a prompt of ${settings.server} by its name, with its arguments filled in.`,
    schema: {
      type: "object",
      properties: { name: text, arguments: { type: "object", additionalProperties: text } },
      required: ["name"],
      additionalProperties: false,
    },
    execute: async (client, { name, arguments: given }, options) => {
      const filled = isJsonObject(given)
        ? Object.fromEntries(Object.entries(given).map(([key, value]) => [key, valueText(value)]))
        : {};
      const { messages } = await client.getPrompt({ name: valueText(name), arguments: filled }, options);
      return messages.map(({ content }) => toMcpBlock(Json.of(content)));
    },
  }),
];

function ownTool(
  connection: Connection,
  { server, timeoutMs }: CallSettings,
  { short, description, schema, execute }: OwnToolOptions,
): OwnTool {
  const make = (terms: ToolTerms): Tool =>
    tool<Json>({
      name: `${server}_${short}`,
      description,
      input: toStandardObjectSchema(schema),
      ...terms,
      timeoutS: timeoutMs / 1000 + 1,
      execute: (input, { signal }) =>
        asResult(signal, async () => {
          const given: JsonObject = isJsonObject(input) ? input : {};
          const content = await connection.use({ signal, timeoutMs }, (client, options) =>
            execute(client, given, options),
          );
          return ToolResult.show(content);
        }),
    });
  return { short, make };
}
