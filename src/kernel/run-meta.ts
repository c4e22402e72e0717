import type { CancellationToken } from "./cancellation.ts";
import { CancellationError } from "./errors.ts";
import type { RunId, SessionId, TenantId, TreeId, UserId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { Supervision } from "./supervision.ts";

/**
 * The metadata of a request. A program may state its fields once, and `start`, scopes and instructions know them:
 * `declare module "reeve" { interface RequestMetadata { readonly plan: "free" | "pro" } }`.
 */
export interface RequestMetadata extends JsonObject {}

/** For whom and for what a run works. Readable anywhere inside it; helpers inherit it. */
export interface RunScope {
  readonly tenantId: TenantId | null;
  /** Null is the anonymous user: a partition of its own. */
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly treeId: TreeId;
  readonly runId: RunId;
  /** Where the request came from, for example `slack`. */
  readonly channel: string | null;
  readonly metadata: RequestMetadata;
}

/** A run's badge: handed to everything that acts for it. */
export interface RunMeta {
  readonly runId: RunId;
  readonly cancellation: CancellationToken;
  /** Null outside a tree. */
  readonly supervision: Supervision | null;
  /** The moment after which no call may start; null for none. */
  readonly deadline: number | null;
  readonly traceId: string;
  readonly spanId: string;
  readonly tenantId: TenantId | null;
  readonly scope: RunScope | null;
}

/** What a badge outside a tree needs. Ids are minted by the caller: the kernel has no source of chance. */
interface StandaloneOptions {
  readonly runId: RunId;
  readonly cancellation: CancellationToken;
  readonly traceId: string;
  readonly spanId: string;
  /** Default: none. */
  readonly deadline?: number | null;
  /** Default: null. */
  readonly tenantId?: TenantId | null;
}

/** Constructors and readers of {@link RunMeta}. */
export const RunMeta = {
  standalone: (options: StandaloneOptions): RunMeta =>
    Object.freeze({ supervision: null, scope: null, deadline: null, tenantId: null, ...options }),
  /** The badge of a part of the work: a child token, a new span, all else as it was. */
  child: (meta: RunMeta, spanId: string): RunMeta =>
    Object.freeze({ ...meta, cancellation: meta.cancellation.child(), spanId }),
  /** Looks at the token first, then at the deadline. @throws CancellationError */
  check: (meta: RunMeta, now: number): void => {
    meta.cancellation.check();
    if (meta.deadline !== null && now > meta.deadline) throw new CancellationError({ reason: "deadline" });
  },
} as const;
