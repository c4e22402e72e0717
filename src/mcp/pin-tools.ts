import { openClient } from "./open-client.ts";
import { checkAddress, type McpServerAddress } from "./options.ts";
import { pinOf, type McpPins } from "./pins.ts";

const ignoreProgress = (): void => undefined;

/**
 * Reads the current tools of a server for approval. Calls no tool. If two tools have one name, neither is listed.
 * @throws Error if the server cannot be reached.
 */
export async function pinTools(address: McpServerAddress): Promise<McpPins> {
  checkAddress(address);
  const { client } = await openClient(
    address,
    {},
    { onListChanged: ignoreProgress, onClose: ignoreProgress },
  );
  try {
    const timeout = (address.timeoutS ?? 60) * 1000;
    const { tools } = await client.listTools(undefined, { timeout, cacheMode: "bypass" });
    const names = tools.map(({ name }) => name);
    const single = tools.filter(({ name }) => names.indexOf(name) === names.lastIndexOf(name));
    return { tools: single.map(pinOf) };
  } finally {
    await client.close();
  }
}
