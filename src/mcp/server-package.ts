import { loadWithPackages } from "#base";

const importServer = () => import("@modelcontextprotocol/server");

/** The package for servers, which is an optional peer. */
export type ServerPackage = Awaited<ReturnType<typeof importServer>>;

/** Loads the package. @throws Error that names the command to install it. */
export const loadServerPackage = (): Promise<ServerPackage> =>
  loadWithPackages("the MCP server", { "@modelcontextprotocol/server": importServer }, importServer);
