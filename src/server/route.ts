import type { Clock, StartLimits } from "#kernel";
import type { Runtime } from "#runtime";
import type { Principal, Scope } from "./auth.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { DevTools } from "./dev-tools.ts";
import { byteStream, type StreamType } from "./event-stream.ts";
import type { Feeds } from "./feeds.ts";
import type { LiveStreams } from "./live/live-streams.ts";
import type { Limits, Places, Room } from "./limits.ts";
import type { RecentTrees } from "./recent-trees.ts";
import { type ObjectShape, shape } from "./shape.ts";
import type { TreeSnapshots } from "./tree-snapshots.ts";

/** What all requests share. */
export interface ServerHost {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly limits: Required<Limits>;
  /** The settings of trees that are started without them. */
  readonly defaults: StartLimits;
  readonly feeds: Feeds;
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
  readonly rooms: Readonly<Record<Room, Places>>;
  readonly subscribers: Places;
  /** Places for bodies with files. */
  readonly uploads: Places;
}

/** One request that may be made, decoded. */
export interface Call<Query = unknown, Body = unknown> {
  readonly host: ServerHost;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly header: (name: string) => string | undefined;
  /** Keeps its place also after the answer, until this is over. */
  readonly hold: (work: Promise<unknown>) => void;
}

/** One line of the table from which requests are answered and the OpenAPI document is made. */
export interface Route<Query = unknown, Body = unknown> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** With `:name` for each parameter. */
  readonly path: string;
  /** Null: any key may ask. */
  readonly scope: Scope | null;
  /**
   * Whether a caller that acts for one user may ask: its handler gives `principal.user` nothing of other users. Default
   * false: such callers are refused.
   */
  readonly forUsers?: boolean;
  readonly summary: string;
  /** Where it has a place until it is answered. */
  readonly room: Room;
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

/** A route with what it does not say filled in. Its handler gets what the shapes beside it have decoded. */
export function route<Query = unknown, Body = unknown>(
  given: Omit<Route<Query, Body>, "room" | "query" | "body"> & {
    /** Default: whoever only looks reads the store, everybody else calls a tree. */
    readonly room?: Room;
    readonly query?: ObjectShape<Query>;
    readonly body?: ObjectShape<Body>;
  },
): Route {
  return {
    ...given,
    room: given.room ?? (given.method === "get" ? "reads" : "calls"),
    query: given.query ?? nothing,
    body: given.method === "get" || given.method === "delete" ? null : (given.body ?? nothing),
  };
}

export const answer = (value: unknown, status = 200): Response => Response.json(value, { status });

/** Opens a stream, if there is a place for it. What `begin` throws is the caller's to hear. */
export async function subscribe(
  { host, principal }: Call,
  begin: (signal: AbortSignal) => Promise<AsyncGenerator<string, void>>,
  {
    type = "text/event-stream",
    headers = {},
  }: { readonly type?: StreamType; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const leave = host.subscribers.take(principal.id);
  const stop = new AbortController();
  const onClose = (): void => {
    leave();
    stop.abort(new Error("nobody listens"));
  };
  const { stallS, heartbeatS } = host.limits;
  try {
    const frames = await begin(stop.signal);
    return byteStream(frames, { type, clock: host.clock, stallS, heartbeatS, headers, onClose });
  } catch (error) {
    onClose();
    throw error;
  }
}
