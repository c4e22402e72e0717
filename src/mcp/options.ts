import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { checkDuration, type JsonObject, type Risk, type Secret, type Sensitivity } from "#kernel";
import type { McpPins } from "./pins.ts";

/** The address of a server. Either `url` or `command`. */
export interface McpServerAddress {
  /** The prefix of its tools: letters, digits and `-`, at most 32, the first a letter. */
  readonly name: string;
  /** The endpoint of a server that is reached over HTTP. */
  readonly url?: string | undefined;
  /** Headers of every request. Sent to this server alone. */
  readonly headers?: Readonly<Record<string, string | Secret>> | undefined;
  /** Hosts and ranges that are allowed although they are not public, as in an address policy. Default: none. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Client credentials of OAuth, for a server that requires them. Tokens are held in memory, for this server only. */
  readonly oauth?:
    | { readonly clientId: string; readonly clientSecret: Secret; readonly scope?: string | undefined }
    | undefined;
  /** A provider of the client package, for other flows of OAuth. */
  readonly authProvider?: OAuthClientProvider | undefined;
  /** The program of a server that is started here and spoken to over stdio. */
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  /**
   * Environment variables beyond PATH, HOME and similar. Default: none; nothing of this process's environment is
   * passed.
   */
  readonly env?: Readonly<Record<string, string | Secret>> | undefined;
  readonly cwd?: string | undefined;
  /** Whether the command may download the program it runs, as npx does. Default: false, such a command is refused. */
  readonly allowDownload?: boolean | undefined;
  /** Seconds for one call, from the queue to the result. Default 60. */
  readonly timeoutS?: number | undefined;
  /** Bytes of one answer. Counted while they arrive. Default 1,000,000. */
  readonly maxBytes?: number | undefined;
}

/** The user's settings for one tool of a server. The server's own hints are ignored. */
export interface McpToolOptions {
  /** Default high. */
  readonly risk?: Risk | undefined;
  /** Default: that of the server. */
  readonly sensitivity?: Sensitivity | undefined;
  /** Whether a call may be repeated after a crash. Default: false. */
  readonly idempotent?: boolean | undefined;
  /** Whether the agent does without it. Default false. */
  readonly off?: boolean | undefined;
}

/** A question that a server of an older revision asks in the middle of a call. */
export interface InCallQuestion {
  readonly server: string;
  readonly message: string;
  /** The schema of the answer. Null if a page should be opened. */
  readonly schema: JsonObject | null;
  readonly url: string | null;
}

/** Code that answers questions in the middle of a call. Null declines. */
export type InCallAnswer = (
  question: InCallQuestion,
) => Promise<Readonly<Record<string, unknown>> | null> | Readonly<Record<string, unknown>> | null;

/** A server whose tools an agent may use. */
export interface McpOptions extends McpServerAddress {
  /** The tools that were approved: data, or a file that `reeve mcp pin` has written. Default `mcp-pins.json`. */
  readonly pins?: McpPins | string | URL | undefined;
  /** Settings by the server's name of a tool. */
  readonly tools?: Readonly<Record<string, McpToolOptions>> | undefined;
  /** Whether strangers may have written its results. Default untrusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** The secrecy of its results. Default public. */
  readonly sensitivity?: Sensitivity | undefined;
  /** Calls at the same time. Further ones wait. Default 4. */
  readonly maxConcurrency?: number | undefined;
  /**
   * Whether users are asked the server's questions: durable questions of servers of revision 2026-07-28. Default:
   * `decline`.
   */
  readonly elicitation?: "decline" | "ask" | undefined;
  /** Answers what servers of older revisions ask in the middle of a call. Default: it is declined. */
  readonly answerInCall?: InCallAnswer | undefined;
  /** Whether the server may have the agent's model called, without tools and at the run's expense. Default refuse. */
  readonly sampling?: "refuse" | "allow" | undefined;
  /** Tokens of one such call. Default: 1,000. */
  readonly maxSamplingTokens?: number | undefined;
  /** Whether the agent gets tools that list and read the server's resources. Default false. */
  readonly resources?: boolean | undefined;
  /** Whether the agent gets tools that list and get the server's prompts. Default false. */
  readonly prompts?: boolean | undefined;
  /** Called with each problem that disables a tool, once per reason. Default: none. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

/** Programs that download the code they run. */
const downloaders: ReadonlySet<string> = new Set(["npx", "bunx", "pnpx", "uvx", "pipx"]);

/** Checks an address. @throws TypeError or RangeError with the reason. */
export function checkAddress({
  name,
  url,
  command,
  allowDownload,
  timeoutS,
  maxBytes,
}: McpServerAddress): void {
  if (!/^[a-zA-Z][a-zA-Z0-9-]{0,31}$/.test(name))
    throw new TypeError(
      `the name of an MCP server must have 1 to 32 letters, digits or -, starting with a letter, got ${JSON.stringify(name)}`,
    );
  if ((url === undefined) === (command === undefined))
    throw new TypeError(`MCP server ${name} needs either url or command`);
  if (url !== undefined && !URL.canParse(url))
    throw new TypeError(`MCP server ${name}: url must be a URL, got ${JSON.stringify(url)}`);
  const program =
    command
      ?.split(/[\\/]/)
      .at(-1)
      ?.replace(/\.(cmd|exe)$/i, "") ?? "";
  if (downloaders.has(program) && allowDownload !== true)
    throw new TypeError(
      `MCP server ${name}: ${program} downloads the program it runs: install the server and start it with node, or set allowDownload`,
    );
  checkDuration("timeoutS", timeoutS ?? 0);
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0))
    throw new RangeError(`MCP server ${name}: maxBytes must be an integer >= 1, got ${maxBytes}`);
}
