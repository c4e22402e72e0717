// The connection to one server, shared by all calls of this process.
//
// Job: connect with the first call, know what the server lists, make calls within the limits, and disconnect when idle.
//
// Invariants:
// 1. The list is read again after a reconnect, after the server says that it has changed, and when it is a minute old.
// 2. A client that was disconnected is never used again: the next call connects again.
// 3. At most `maxConcurrency` calls are under way.
import type { Client } from "@modelcontextprotocol/client";
import { rejectOnAbort } from "#base";
import { CallPlaces } from "./call-places.ts";
import { openClient, type OpenClient, type ServerRequests } from "./open-client.ts";
import type { McpServerAddress } from "./options.ts";
import { pinOf } from "./pins.ts";

const listAgeMs = 60_000;
const idleMs = 30_000;
/** Characters of a message from a server or a transport. */
const maxMessage = 2_000;

/** A failure that the model may see. Its message can hold text of the server. */
export class McpCallError extends Error {
  /** Whether the server has answered, with an error. */
  readonly isAnswer: boolean;
  /** Whether the request was sent, and the server may have carried it out. */
  readonly mayHaveRun: boolean;

  constructor(
    message: string,
    {
      isAnswer = true,
      mayHaveRun = false,
    }: { readonly isAnswer?: boolean; readonly mayHaveRun?: boolean } = {},
  ) {
    super(message);
    this.isAnswer = isAnswer;
    this.mayHaveRun = mayHaveRun;
  }
}

/** One call within the limits of a connection. */
interface LimitedCall {
  readonly signal: AbortSignal;
  /** The time that it has, at most. */
  readonly timeoutMs: number;
}

/** A tool, as a server lists it. */
interface ToolListing {
  /** Null where two have one name. */
  readonly hash: string | null;
  /** Whether a server of the older revision runs it as a task if it is asked to. */
  readonly isTask: boolean;
}

interface Session extends OpenClient {
  list: Promise<ReadonlyMap<string, ToolListing>> | null;
  listedAt: number;
}

/** The connection to one server. */
export class Connection {
  readonly #address: McpServerAddress;
  readonly #requests: ServerRequests;
  readonly #places: CallPlaces;
  #session: Promise<Session> | null = null;
  #calls = 0;
  #idle: ReturnType<typeof setTimeout> | null = null;

  constructor(address: McpServerAddress, requests: ServerRequests, maxConcurrency: number) {
    this.#address = address;
    this.#requests = requests;
    this.#places = new CallPlaces(maxConcurrency);
  }

  /** Makes a call. @throws McpCallError; the signal's reason. */
  use<Value>(
    { signal, timeoutMs }: LimitedCall,
    body: (client: Client, options: { signal: AbortSignal; timeout: number }) => Promise<Value>,
  ): Promise<Value> {
    return this.#places.hold(signal, async () => {
      this.#begin();
      try {
        const session = await rejectOnAbort(this.#connect(), signal);
        return await body(session.client, { signal, timeout: timeoutMs }).catch((error: unknown) => {
          throw this.#toError(session, error, signal);
        });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        // It could not be connected, so nothing was sent.
        throw error instanceof McpCallError
          ? error
          : new McpCallError(shorten(messageOf(error)), { isAnswer: hasNumberAsCode(error) });
      } finally {
        this.#end();
      }
    });
  }

  /** Reads the hash that a tool has now; null: two tools have this name; undefined: it is not listed. */
  async hashOf(tool: string, call: LimitedCall): Promise<string | null | undefined> {
    return (await this.#findListed(tool, call))?.hash;
  }

  /** Whether a call has to ask for a task, so that the tool runs as one. */
  async needsTask(tool: string, call: LimitedCall): Promise<boolean> {
    return (await this.use(call, () => this.#findListed(tool, call)))?.isTask ?? false;
  }

  /** Disconnects. A later call connects again. */
  async close(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    const open = this.#session;
    this.#session = null;
    const session = await open?.catch(() => null);
    await session?.client.close().catch(() => undefined);
  }

  async #findListed(tool: string, { signal }: LimitedCall): Promise<ToolListing | undefined> {
    const session = await rejectOnAbort(this.#connect(), signal);
    return (await rejectOnAbort(this.#list(session), signal)).get(tool);
  }

  #begin(): void {
    this.#calls += 1;
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
  }

  #end(): void {
    this.#calls -= 1;
    if (this.#calls > 0) return;
    this.#idle = setTimeout(() => void this.close(), idleMs);
    this.#idle.unref();
  }

  #connect(): Promise<Session> {
    if (this.#session) return this.#session;
    const drop = (): void => {
      if (this.#session === opening) this.#session = null;
    };
    let known: Session | null = null;
    const opening: Promise<Session> = openClient(this.#address, this.#requests, {
      onListChanged: () => {
        if (known) known.listedAt = -Infinity;
      },
      onClose: drop,
    }).then((open) => (known = { ...open, list: null, listedAt: -Infinity }));
    this.#session = opening;
    opening.catch(drop);
    return opening;
  }

  /** Lists the tools once for all concurrent calls. */
  #list(session: Session): Promise<ReadonlyMap<string, ToolListing>> {
    const now = performance.now();
    if (session.list && now - session.listedAt < listAgeMs) return session.list;
    session.listedAt = now;
    const list = readList(session.client, (this.#address.timeoutS ?? 60) * 1000);
    session.list = list;
    list.catch(() => {
      if (session.list === list) session.list = null;
    });
    return list;
  }

  #toError({ fault }: Session, error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof McpCallError) return error;
    const why = fault();
    if (why !== null)
      return new McpCallError(`${this.#address.name}: ${why}`, { isAnswer: false, mayHaveRun: true });
    const isAnswer = hasNumberAsCode(error);
    return new McpCallError(shorten(messageOf(error)), {
      isAnswer,
      mayHaveRun: !isAnswer && !isRefused(error),
    });
  }
}

/** An error that the server has answered with has a number as its code. */
const hasNumberAsCode = (error: unknown): boolean =>
  error instanceof Error && "code" in error && typeof error.code === "number";

/** Errors of the client package that it throws before it sends anything. */
const unsentCodes: ReadonlySet<unknown> = new Set([
  "NOT_CONNECTED",
  "NOT_INITIALIZED",
  "CAPABILITY_NOT_SUPPORTED",
  "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
]);

/** Whether a request was not sent, or was refused over HTTP: no server carries out what it answers with 4xx. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status: unknown = Reflect.get(error, "status");
  // 408: a proxy may have waited for the server in vain.
  const isHttpRefusal = typeof status === "number" && status >= 400 && status < 500 && status !== 408;
  const isUnauthorized = Reflect.get(error.constructor, "mcpBrand") === "mcp.UnauthorizedError";
  return isHttpRefusal || isUnauthorized || unsentCodes.has(Reflect.get(error, "code"));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown error");

const shorten = (text: string): string => (text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text);

async function readList(client: Client, timeout: number): Promise<ReadonlyMap<string, ToolListing>> {
  const { tools } = await client.listTools(undefined, { timeout, cacheMode: "bypass" });
  const takesTasks = client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
  const listed = new Map<string, ToolListing>();
  for (const tool of tools) {
    const support = tool.execution?.taskSupport;
    const isTask = takesTasks && (support === "required" || support === "optional");
    listed.set(tool.name, { hash: listed.has(tool.name) ? null : pinOf(tool).hash, isTask });
  }
  return listed;
}
