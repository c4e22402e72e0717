import type { Clock, StartLimits } from "#kernel";
import type { Runtime } from "#runtime";
import { sharerOf, type Principal, type Scope } from "./auth.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { DevTools } from "./dev-tools.ts";
import { byteStream, type StreamType } from "./event-stream.ts";
import type { SharedTails } from "./shared-tails.ts";
import type { LiveStreams } from "./live/live-streams.ts";
import { type FairSemaphore, type Limits, type Pool, takePermits } from "./limits.ts";
import type { RecentTrees } from "./recent-trees.ts";
import { type ObjectShape, shape } from "./shape.ts";
import type { TreeSnapshots } from "./tree-snapshots.ts";
import type { Turns } from "./turns.ts";

/** Dependencies shared by all requests. */
export interface ServerDeps {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly limits: Required<Limits>;
  /** The settings of trees that are started without them. */
  readonly defaults: StartLimits;
  readonly feeds: SharedTails;
  readonly live: LiveStreams;
  readonly snapshots: TreeSnapshots;
  readonly sessions: BrowserSessions;
  /** Whether callers must show who they are. */
  readonly needsKey: boolean;
  /** The version of this package. */
  readonly version: string;
  /** The tools of `reeve dev`; null: this is another server. */
  readonly dev: DevTools | null;
  /** The path of the dashboard; null: it is not served. */
  readonly page: string | null;
  readonly recent: RecentTrees;
  readonly pools: Readonly<Record<Pool, FairSemaphore>>;
  /** Places for streams, shared by tenants, and those of each key. */
  readonly subscribers: FairSemaphore;
  readonly keySubscribers: FairSemaphore;
  /** Places for bodies with files. */
  readonly uploads: FairSemaphore;
  readonly turns: Turns;
}

/** One allowed and decoded request. */
export interface Call<Query = unknown, Body = unknown> {
  readonly host: ServerDeps;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly header: (name: string) => string | undefined;
  /** Keeps its place also after the answer, until this is over. */
  readonly hold: (work: Promise<unknown>) => void;
}

/** One row of the route table, which serves requests and generates the OpenAPI document. */
export interface Route<Query = unknown, Body = unknown> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The path, with `:name` for each parameter. */
  readonly path: string;
  /** Null: any key may ask. */
  readonly scope: Scope | null;
  /**
   * Whether a caller that acts for one user may use it. The handler must give `principal.user` no data of other users.
   * Default: false, such callers are refused.
   */
  readonly forUsers?: boolean;
  /**
   * Whether its answer is content: for keys with the scope `content`, and for callers that act for one user, whose own
   * content it is. Others are refused. Default: false.
   */
  readonly isContent?: boolean;
  readonly summary: string;
  /** The pool that the request counts against until it is answered. */
  readonly pool: Pool;
  /** Whether its body may hold files, and be as large as `uploadBytes`. Default false. */
  readonly takesFiles?: boolean;
  /** The media type of the answer. Default JSON. */
  readonly answers?: StreamType;
  readonly query: ObjectShape<Query>;
  /** Null: a request without a body. */
  readonly body: ObjectShape<Body> | null;
  handle(call: Call<Query, Body>): Promise<Response>;
}

const nothing = shape.object({});

/** Creates a route with its defaults. The handler receives the input decoded by the route's shapes. */
export function route<Query = unknown, Body = unknown>(
  given: Omit<Route<Query, Body>, "pool" | "query" | "body"> & {
    /** Default: `reads` for routes that only read, otherwise `calls`. */
    readonly pool?: Pool;
    readonly query?: ObjectShape<Query>;
    readonly body?: ObjectShape<Body>;
  },
): Route {
  return {
    ...given,
    pool: given.pool ?? (given.method === "get" ? "reads" : "calls"),
    query: given.query ?? nothing,
    body: given.method === "get" || given.method === "delete" ? null : (given.body ?? nothing),
  };
}

export const toJsonResponse = (value: unknown, status = 200): Response => Response.json(value, { status });

/** Opens a stream if a permit is free. Errors of `begin` are returned to the caller. */
export async function subscribe(
  { host, principal }: Call,
  begin: (signal: AbortSignal) => Promise<AsyncGenerator<string, void>>,
  {
    type = "text/event-stream",
    headers = {},
  }: { readonly type?: StreamType; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const leave = takePermits([
    [host.keySubscribers, principal.id],
    [host.subscribers, sharerOf(principal)],
  ]);
  const stop = new AbortController();
  const onClose = (): void => {
    leave();
    stop.abort(new Error("the client disconnected"));
  };
  const { writeTimeoutMs, heartbeatS } = host.limits;
  try {
    const frames = await begin(stop.signal);
    return byteStream(frames, { type, clock: host.clock, writeTimeoutMs, heartbeatS, headers, onClose });
  } catch (error) {
    onClose();
    throw error;
  }
}
