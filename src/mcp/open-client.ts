// A client of one server, opened with limits.
//
// Job: load the client package, make the transport, connect, and watch what arrives.
//
// Invariants:
// 1. HTTP goes through the address policy. Bytes are counted while they arrive, decompressed.
// 2. A secret is revealed to its own server alone. No request follows a redirect to another origin.
// 3. A server that floods the client with messages is disconnected.
import type {
  Client,
  ClientCapabilities,
  ElicitRequest,
  JSONRPCMessage,
  Transport,
} from "@modelcontextprotocol/client";
import { Secret } from "#kernel";
import { loadWithPackages } from "#base";
import { createAddressPolicy, createCheckedFetch } from "#net";
import type { McpServerAddress } from "./options.ts";
import { markTask, tasksExtension } from "./task-result.ts";

/** Messages that a server may send unasked at once, and each second. */
const burst = 500;
const perSecond = 100;
/** Room for the frame of an answer of `maxBytes`, and for messages beside it. */
const frameBytes = 100_000;

/** The requests of a server that are answered. Absent: the capability is not declared. */
export interface ServerRequests {
  readonly elicit?: ((params: ElicitRequest["params"]) => Promise<ElicitAnswer>) | undefined;
  readonly sample?: ((params: unknown) => Promise<SampleAnswer>) | undefined;
}

/** An answer to an elicitation. */
export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string | number | boolean | string[]>;
}

/** A model's answer to a server that asked for it. */
export interface SampleAnswer {
  readonly role: "assistant";
  readonly model: string;
  readonly content: { readonly type: "text"; readonly text: string };
  readonly stopReason: string;
}

/** A connected client. */
export interface OpenClient {
  readonly client: Client;
  /** Why it was disconnected, where this side did it. */
  readonly fault: () => string | null;
}

const importClient = () => import("@modelcontextprotocol/client");
const importStdio = () => import("@modelcontextprotocol/client/stdio");

type ClientPackage = Awaited<ReturnType<typeof importClient>>;

/** Connects to a server. @throws Error with the reason for the failure. */
export async function openClient(
  address: McpServerAddress,
  requests: ServerRequests,
  onEvent: { readonly onListChanged: () => void; readonly onClose: () => void },
): Promise<OpenClient> {
  const what = `MCP server ${address.name}`;
  const sdk = await loadWithPackages(what, { "@modelcontextprotocol/client": importClient }, importClient);
  const { timeoutS = 60 } = address;
  const timeout = Math.min(timeoutS, 30) * 1000;
  const client = new sdk.Client(
    { name: "reeve", version: "1.0.0" },
    {
      capabilities: capabilitiesOf(requests),
      versionNegotiation: { mode: "auto", probe: { timeoutMs: Math.min(timeout, 10_000) } },
      inputRequired: { autoFulfill: false },
      listMaxPages: 20,
    },
  );
  const { elicit, sample } = requests;
  if (elicit)
    client.setRequestHandler("elicitation/create", async ({ params }) => ({ ...(await elicit(params)) }));
  if (sample)
    client.setRequestHandler("sampling/createMessage", async ({ params }) => ({ ...(await sample(params)) }));
  client.setNotificationHandler("notifications/tools/list_changed", onEvent.onListChanged);
  const transport = await createTransport(sdk, address);
  const fault = watchTransport(transport);
  Object.assign(client, { onclose: onEvent.onClose, onerror: fault.note });
  try {
    await client.connect(transport, { timeout });
  } catch (error) {
    await transport.close().catch(() => undefined);
    throw new Error(`${what} could not be connected: ${fault.read() ?? messageOf(error)}`, { cause: error });
  }
  return { client, fault: fault.read };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown error");

function capabilitiesOf({ elicit, sample }: ServerRequests): ClientCapabilities {
  return {
    ...(elicit && { elicitation: { form: {}, url: {} } }),
    ...(sample && { sampling: {} }),
    extensions: { [tasksExtension]: {} },
  };
}

/** Counts unrequested messages of a server, and disconnects a server that floods. */
function watchTransport(transport: Transport): {
  readonly note: (error: Error) => void;
  readonly read: () => string | null;
} {
  let fault: string | null = null;
  let room = burst;
  let since = performance.now();
  const disconnect = (why: string): void => {
    fault ??= why;
    killServer(transport);
    transport.close().catch(() => undefined);
  };
  const onmessage = (message: JSONRPCMessage): void => {
    markTask(message);
    if (!("method" in message) || fault !== null) return;
    const now = performance.now();
    room = Math.min(burst, room + ((now - since) / 1000) * perSecond) - 1;
    since = now;
    if (room < 0) disconnect("it sent too many messages, and was disconnected");
  };
  // The client calls a handler that is there before its own.
  Object.assign(transport, { onmessage });
  return {
    note: (error) => {
      if (/exceeded maximum size|fetch-limit|bytes/.test(error.message))
        disconnect("its answer was too large, and it was disconnected");
    },
    read: () => fault,
  };
}

/** Kills a server process at once. The transport's own `close` reads on for up to four seconds. */
function killServer(transport: Transport): void {
  const pid = "pid" in transport ? transport.pid : null;
  if (typeof pid !== "number") return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended by itself.
  }
}

async function createTransport(sdk: ClientPackage, address: McpServerAddress): Promise<Transport> {
  const { name, url, command = "", args = [], env = {}, cwd, maxBytes = 1_000_000 } = address;
  if (url !== undefined) return httpTransport(sdk, address, new URL(url));
  const { StdioClientTransport } = await loadWithPackages(
    `MCP server ${name}`,
    { "@modelcontextprotocol/client": importClient },
    importStdio,
  );
  return new StdioClientTransport({
    command,
    args: [...args],
    env: revealSecrets(env),
    stderr: "ignore",
    maxBufferSize: maxBytes + frameBytes,
    ...(cwd !== undefined && { cwd }),
  });
}

function httpTransport(sdk: ClientPackage, address: McpServerAddress, url: URL): Transport {
  const { headers = {}, allowHosts = [], oauth, authProvider, timeoutS = 60, maxBytes = 1_000_000 } = address;
  const longestMs = timeoutS * 1000 + 5_000;
  const fetchChecked = createCheckedFetch({
    // Plain HTTP only where the user has named the host.
    policy: createAddressPolicy({
      allow: allowHosts,
      allowHttp: url.protocol === "http:" && allowHosts.length > 0,
    }),
    maxBytes: maxBytes + frameBytes,
    timeoutMs: longestMs,
    idleTimeoutMs: longestMs,
    maxRedirects: 0,
  });
  const provider =
    authProvider ??
    (oauth &&
      new sdk.ClientCredentialsProvider({
        clientId: oauth.clientId,
        clientSecret: oauth.clientSecret.reveal(),
        ...(oauth.scope !== undefined && { scope: oauth.scope }),
      }));
  return new sdk.StreamableHTTPClientTransport(url, {
    fetch: (input, init) => (isStandingStream(init) ? noStream() : fetchChecked(input, init)),
    requestInit: { headers: revealSecrets(headers) },
    ...(provider && { authProvider: provider }),
  });
}

/** The stream for unrequested messages of a server of an older revision. It is not needed. */
const isStandingStream = (init: RequestInit | undefined): boolean =>
  (init?.method ?? "GET") === "GET" &&
  (new Headers(init?.headers).get("accept") ?? "").includes("text/event-stream");

const noStream = (): Promise<Response> => Promise.resolve(new Response(null, { status: 405 }));

const revealSecrets = (given: Readonly<Record<string, string | Secret>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
