import { randomUUID } from "node:crypto";
import { type Context, Hono } from "hono";
import { type Clock, NotFoundError, type StartLimits, checkDuration } from "#kernel";
import type { Runtime } from "#runtime";
import { systemClock, withTimeout } from "#base";
import { type Auth, type Principal, sharerOf } from "./auth.ts";
import type { DevTools } from "./dev-tools.ts";
import { SharedTails } from "./shared-tails.ts";
import { LiveStreams } from "./live/live-streams.ts";
import { BrowserSessions } from "./browser-sessions.ts";
import { checkContent, checkHeaders, checkNoBody, checkScope, Gate, readBody } from "./gate.ts";
import { createPools, defaultLimits, FairSemaphore, type Limits, RateLimit, takePermits } from "./limits.ts";
import { PageFiles, pageHeaders, type PageOptions } from "./page-files.ts";
import { type ServerMount, toMountedCall } from "./mount.ts";
import { RecentTrees } from "./recent-trees.ts";
import { HttpError, toHttpError, type HttpErrorReply } from "./http-error.ts";
import type { Route, ServerDeps } from "./route.ts";
import { routes } from "./routes.ts";
import { decodeQuery } from "./shape.ts";
import { checkLimits } from "./start-limits.ts";
import { TreeSnapshots } from "./tree-snapshots.ts";
import { Turns } from "./turns.ts";
import { actForUser, checkUnbound, userHeader } from "./users.ts";
import { readVersion } from "./version.ts";

/** Options of a server. */
export interface ServerOptions {
  /** Must have a store: without one there is nothing to list. */
  readonly runtime: Runtime;
  /** Authentication. `none`: every caller has every right; only for a server on loopback. */
  readonly auth: Auth | "none";
  /** Host names, with or without a port, that requests may name. Default: those of loopback. */
  readonly hosts?: readonly string[];
  /** Other origins whose pages may send requests (CORS). Default: none. */
  readonly origins?: readonly string[];
  readonly limits?: Limits;
  /** The settings of trees that are started without them. A key may allow less. Default: no budget, `normal`, 50 agents. */
  readonly defaults?: StartLimits;
  /** Further protocols behind the same request checks, such as `mcpServer({ agents })`. Default: none. */
  readonly mounts?: readonly ServerMount[];
  /** The dashboard, under `/ui`. Its files need no key: they hold no data. Default: none. */
  readonly ui?: boolean | PageOptions;
  /** The tools of `reeve dev`, for its own page on this machine. Default: none, and `/dev/faults` does not exist. */
  readonly dev?: DevTools;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Called with each internal error and the error id sent to the client. Default: none. */
  readonly onError?: (error: unknown, noted: string) => void;
}

const securityHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

interface Env {
  Variables: {
    principal: Principal;
    /** The allowed foreign origin of the page that sent the request. Null if there is none. */
    origin: string | null;
    /** The headers of an answer that is not data. */
    headers: Readonly<Record<string, string>>;
  };
}

/** Creates the sources of a server's streams. */
function openFeeds(runtime: ServerOptions["runtime"], clock: Clock): Pick<ServerDeps, "feeds" | "live"> {
  const feeds = new SharedTails(runtime);
  return { feeds, live: new LiveStreams({ runtime, clock, feeds }) };
}

/** The server as an app: `Request` in, `Response` out, to be mounted anywhere. @throws TypeError without a store. */
export function serverApp(options: ServerOptions): Hono<Env> {
  const { runtime, clock = systemClock } = options;
  void runtime.store;
  const limits = { ...defaultLimits, ...options.limits };
  for (const name of ["requestTimeoutMs", "writeTimeoutMs", "heartbeatS"] as const)
    checkDuration(name, limits[name], { min: 0.001 });
  const { auth, hosts = [], origins = [], defaults = {} } = options;
  checkLimits(defaults);
  const sessions = new BrowserSessions(auth, clock);
  const host: ServerDeps = {
    runtime,
    sessions,
    snapshots: new TreeSnapshots(runtime),
    needsKey: auth !== "none",
    version: readVersion(),
    dev: options.dev ?? null,
    page: pagePath(options.ui ?? false),
    clock,
    limits,
    defaults,
    ...openFeeds(runtime, clock),
    recent: new RecentTrees(),
    pools: createPools(limits),
    turns: new Turns(),
    uploads: new FairSemaphore("uploads", limits.uploads),
    subscribers: new FairSemaphore("subscribers", limits.subscribers),
    keySubscribers: new FairSemaphore("subscribers", Infinity, limits.subscribersPerKey),
  };
  const gate = new Gate({ auth, hosts, origins, sessions, limits, clock });
  const rate = new RateLimit(limits.requestsPerMinute, clock);
  const app = new Hono<Env>();
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(context.get("headers") ?? securityHeaders))
      headers.set(name, value);
    const origin = context.get("origin");
    if (origin) allowOrigin(headers, origin);
  });
  // For health checks: accepts any host name, needs no key, and reveals nothing.
  app.get("/health", () => Response.json({ ok: true }));
  addPublished(app, gate, options.mounts ?? []);
  if (options.ui) addPage(app, gate, options.ui === true ? {} : options.ui);
  app.use(async (context, next) => {
    const { headers, method } = context.req.raw;
    gate.checkHost(headers);
    const origin = gate.checkOrigin(headers);
    context.set("origin", origin);
    if (origin !== null && method === "OPTIONS") return new Response(null, { status: 204 });
    const principal = await gate.admit(context.req.raw, origin);
    rate.take(principal.id);
    context.set("principal", principal);
    return next();
  });
  for (const route of routes) app.on(route.method, route.path, (context) => answerTo(context, route, host));
  for (const mount of options.mounts ?? [])
    app.on(["get", "post", "delete"], mount.path, (context) => answerMount(context, mount, host));
  app.notFound(({ req }) => respond(toHttpError(noRoute(req.method, req.path), () => "")));
  app.onError((error) => answerError(error, options.onError));
  return app;
}

/** Milliseconds until a caller that asks for too much is told so. */
const refusalMs = 100;

async function answerError(error: unknown, onError: ServerOptions["onError"]): Promise<Response> {
  const reply = toHttpError(error, (cause) => logError(cause, onError));
  // A caller that is refused and asks again at once would keep the processor from others.
  if (reply.status === 429) await new Promise((resolve) => setTimeout(resolve, refusalMs));
  return respond(reply);
}

const noRoute = (method: string, path: string): NotFoundError =>
  new NotFoundError({ what: "route", id: `${method} ${path.slice(0, 200)}` });

/** Returns the path of the dashboard; null: it is not served. */
function pagePath(ui: boolean | PageOptions): string | null {
  return ui === false ? null : ((ui === true ? undefined : ui.base) ?? "/ui");
}

/** Adds what mounts answer without a key. */
function addPublished(app: Hono<Env>, gate: Gate, mounts: readonly ServerMount[]): void {
  for (const { path, publish } of mounts)
    if (publish)
      app.get(path, ({ req }) => {
        gate.checkHost(req.raw.headers);
        return publish();
      });
}

/** Serves the dashboard. A browser that asks for `/` is sent there. */
function addPage(app: Hono<Env>, gate: Gate, options: PageOptions): void {
  const files = new PageFiles(options);
  const { base = "/ui" } = options;
  const serve = (context: Context<Env>): Response => {
    const { headers, url } = context.req.raw;
    gate.checkHost(headers);
    context.set("headers", pageHeaders);
    const path = new URL(url).pathname;
    const inside = path.slice(path.indexOf("/ui") + "/ui/".length);
    return files.answer(inside, headers.get("accept-encoding") ?? "");
  };
  app.get("/ui", serve);
  app.get("/ui/*", serve);
  app.get("/", (context, next) => {
    gate.checkHost(context.req.raw.headers);
    if (!context.req.header("accept")?.includes("text/html")) return next();
    return Promise.resolve(new Response(null, { status: 302, headers: { location: base } }));
  });
}

/**
 * Takes a permit before the body is read, and refuses the request if there is none. The permit is returned when the
 * work is done, even if the client has disconnected.
 */
async function answerTo(context: Context<Env>, route: Route, host: ServerDeps): Promise<Response> {
  const request = context.req.raw;
  const caller = context.get("principal");
  checkScope(caller, route.scope);
  checkHeaders(request.headers);
  const principal = actForUser(caller, request.headers.get(userHeader));
  if (!route.forUsers) checkUnbound(principal);
  if (route.isContent) checkContent(principal);
  const query = decodeQuery(route.query, new URL(request.url).searchParams);
  if (!route.body) checkNoBody(request.headers);
  const most = maxBodyBytes(request, route, host);
  const sharer = sharerOf(principal);
  const returnPermits = takePermits([
    ...(most > host.limits.bodyBytes ? [[host.uploads, sharer] as const] : []),
    [host.pools[route.pool], sharer],
  ]);
  const endTurn = await host.turns.take(`${route.pool === "control" ? "control " : ""}${sharer}`);
  const release = (): void => {
    endTurn();
    returnPermits();
  };
  const body = await bodyOf(request, route, most).catch((error: unknown) => {
    release();
    throw error;
  });
  const header = (name: string): string | undefined => context.req.header(name);
  const held: Promise<unknown>[] = [];
  const hold = (work: Promise<unknown>): void => void held.push(work);
  const call = { host, principal, params: context.req.param(), query, body, header, hold };
  const answering = route.handle(call);
  void answering
    .then(endTurn, endTurn)
    .then(() => Promise.allSettled(held))
    .then(release);
  return answerInTime(host, answering);
}

/** Answers a request to a mounted part: the same checks and limits as for a route. */
async function answerMount(context: Context<Env>, mount: ServerMount, host: ServerDeps): Promise<Response> {
  const request = context.req.raw;
  const caller = context.get("principal");
  checkScope(caller, mount.scope);
  checkHeaders(request.headers);
  const principal = actForUser(caller, request.headers.get(userHeader));
  const sharer = sharerOf(principal);
  const release = host.pools.mounts.take(sharer);
  const endTurn = await host.turns.take(sharer);
  try {
    const body = request.method === "POST" ? await readBody(request, host.limits.bodyBytes) : null;
    return await answerInTime(
      host,
      mount.handle(toMountedCall({ request, body, labels: mount.labels }, host, principal)),
    );
  } finally {
    endTurn();
    release();
  }
}

async function bodyOf(request: Request, { body }: Route, most: number): Promise<unknown> {
  return body?.decode(await readBody(request, most), "body");
}

/** A body larger than usual must state its length: it needs a permit before it is read. */
function maxBodyBytes(request: Request, { takesFiles = false }: Route, { limits }: ServerDeps): number {
  const isLarge = Number(request.headers.get("content-length") ?? 0) > limits.bodyBytes;
  return takesFiles && isLarge ? limits.uploadBytes : limits.bodyBytes;
}

/** Refuses a request that no worker answers in time. The requested operation may still happen. @throws HttpError */
function answerInTime({ clock, limits }: ServerDeps, answering: Promise<Response>): Promise<Response> {
  const onTimeout = (): never => {
    // The client no longer reads a stream that starts too late.
    answering.then(({ body }) => body?.cancel()).catch(() => undefined);
    throw new HttpError("no-answer", "no answer from a worker in time: the request may still take effect", {
      retryAfterS: 1,
    });
  };
  const ms = limits.requestTimeoutMs;
  return withTimeout({ clock, ms, onTimeout, bestEffort: true }, () => answering);
}

const respond = ({ status, error, headers }: HttpErrorReply): Response =>
  Response.json({ error }, { status, headers });

function logError(error: unknown, onError: ServerOptions["onError"]): string {
  const name = randomUUID();
  onError?.(error, name);
  return name;
}

function allowOrigin(headers: Headers, origin: string): void {
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-allow-headers", "authorization, content-type, last-event-id");
  headers.set("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE");
  headers.set("access-control-max-age", "600");
  headers.set("cross-origin-resource-policy", "cross-origin");
  headers.set("vary", "origin");
}
