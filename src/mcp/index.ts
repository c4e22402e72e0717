export type {
  McpServerAddress,
  McpOptions,
  McpToolOptions,
  InCallAnswer,
  InCallQuestion,
} from "./options.ts";
export { mcp, type McpExtension } from "./mcp.ts";
export { mcpServer, type McpServerOptions } from "./mcp-server.ts";
export { pinTools } from "./pin-tools.ts";
export {
  comparePins,
  readPinsFile,
  type McpPin,
  type McpPins,
  type McpPinsFile,
  type PinChange,
} from "./pins.ts";
