// Agents as an A2A server.
//
// Job: two mounts of the server: the card at its well-known path, and one address for the methods, as JSON-RPC.
//
// Invariants:
// 1. Keys, scopes, tenants, users and limits are those of the server that it is mounted in.
// 2. The card needs a key, unless the user publishes it.
// 3. A request that names a tenant is refused.
import { isJsonObject, Json, type Agent, type Labels } from "#kernel";
import type { MountedCall, ServerMount } from "#server";
import { loadA2a, type A2aPackage } from "./a2a-package.ts";
import { toAgentCard } from "./agent-card.ts";
import { createTreeHandler } from "./tree-handler.ts";

/** Agents that are offered by A2A. */
export interface A2aServerOptions {
  readonly agents: readonly [Agent, ...Agent[]];
  /** The address under which clients reach the server, such as `https://api.example.com`. The card names it. */
  readonly url: string;
  /** The path of the methods. Default `/a2a`. */
  readonly path?: string | undefined;
  /** Default reeve. */
  readonly name?: string | undefined;
  /** Default: the names of the agents. */
  readonly description?: string | undefined;
  /** The version of the agents, for clients. Default 1.0.0. */
  readonly version?: string | undefined;
  /** The readers of the card: callers with a key of the scope `run`, or everyone. Default key. */
  readonly card?: "key" | "public" | undefined;
  /** Seconds that a message waits for its tree before the response holds the unfinished task. Default: 20. */
  readonly waitS?: number | undefined;
  /** Labels of the messages, as of the input of a start: `{ untrusted: true }` for clients that pass on texts of strangers. Default: none. */
  readonly labels?: Partial<Labels> | undefined;
}

const cardPath = "/.well-known/agent-card.json";
const legacyVersion = "0.3";

/** Offers agents by A2A, for `serverApp({ mounts })` or `listen({ mounts })`. @throws TypeError for a `url` that is none. */
export function a2aServer(options: A2aServerOptions): readonly ServerMount[] {
  const { agents, url, path = "/a2a", name = "reeve", version = "1.0.0", waitS = 20 } = options;
  if (!URL.canParse(url))
    throw new TypeError(`a2aServer: url must be an http(s) URL, got ${JSON.stringify(url)}`);
  const { description = `Agents: ${agents.map(({ id }) => id).join(", ")}.` } = options;
  const card = toAgentCard({ agents, url, path, name, description, version });
  const showCard = async (): Promise<Response> => {
    const { core } = await loadA2a();
    return Response.json(core.AgentCard.toJSON(card));
  };
  return [
    {
      path: cardPath,
      scope: "run",
      handle: showCard,
      ...(options.card === "public" && { publish: showCard }),
    },
    {
      path,
      scope: "run",
      labels: options.labels,
      handle: async (call) => {
        const sdk = await loadA2a();
        const gone = new AbortController();
        const longestS = Math.min(waitS, (call.requestTimeoutMs / 1000) * 0.8);
        const handler = createTreeHandler({ sdk, call, agents, card, waitS: longestS, signal: gone.signal });
        return answerRpc(sdk, call, { handler, gone });
      },
    },
  ];
}

type Handler = ReturnType<typeof createTreeHandler>;

async function answerRpc(
  { core, server, errors, legacy }: A2aPackage,
  { request, body, stream }: MountedCall,
  { handler, gone }: { readonly handler: Handler; readonly gone: AbortController },
): Promise<Response> {
  const asked = request.headers.get(core.A2A_VERSION_HEADER) ?? legacyVersion;
  const isLegacy = asked === legacyVersion;
  const transport = isLegacy
    ? new legacy.LegacyJsonRpcTransportHandler(handler)
    : new server.JsonRpcTransportHandler(handler);
  const given = Json.of(body);
  const fields = isJsonObject(given) ? given : {};
  const refuse = (error: unknown): Response =>
    Response.json({
      jsonrpc: "2.0",
      id: fields["id"] ?? null,
      error: server.JsonRpcTransportHandler.mapToJSONRPCError(error),
    });
  try {
    server.validateVersion(asked, await handler.getAgentCard(), "JSONRPC");
    if (isJsonObject(fields["params"]) && fields["params"]["tenant"])
      throw new errors.RequestMalformedError(
        "params.tenant: the request must not name a tenant: the key determines it",
      );
    const context = new server.ServerCallContext({ requestedVersion: asked });
    const made = await transport.handle(fields, context);
    if (!isStream(made)) return Response.json(made);
    // An error before the first event is an answer, not a stream.
    const first = await made.next();
    return await stream(async (signal) => {
      signal.addEventListener("abort", () => gone.abort(signal.reason));
      return toRpcFrames(first, made);
    });
  } catch (error) {
    gone.abort(error);
    if (error instanceof errors.A2AError) return refuse(error);
    throw error;
  }
}

type RpcStream = AsyncGenerator<unknown, void, undefined>;

const isStream = (made: object): made is RpcStream => Symbol.asyncIterator in made;

async function* toRpcFrames(
  first: IteratorResult<unknown, void>,
  rest: RpcStream,
): AsyncGenerator<string, void> {
  if (!first.done) yield `data: ${JSON.stringify(first.value)}\n\n`;
  for await (const each of rest) yield `data: ${JSON.stringify(each)}\n\n`;
}
