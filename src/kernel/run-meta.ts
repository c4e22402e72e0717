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

/** The request that a run works for. Readable anywhere inside the run. Children inherit it. */
export interface RunScope {
  readonly tenantId: TenantId | null;
  /** Null is the anonymous user: a partition of its own. */
  readonly userId: UserId | null;
  readonly sessionId: SessionId;
  readonly treeId: TreeId;
  readonly runId: RunId;
  /** The origin of the request, for example `slack`. */
  readonly channel: string | null;
  readonly metadata: RequestMetadata;
}

/** The identity of a run, passed to all code that acts for it. */
export interface RunMeta {
  readonly runId: RunId;
  readonly cancellation: CancellationToken;
  /** Null outside a tree. */
  readonly supervision: Supervision | null;
  /** The moment after which no call may start. Null for none. */
  readonly deadline: number | null;
  readonly traceId: string;
  readonly spanId: string;
  readonly tenantId: TenantId | null;
  readonly scope: RunScope | null;
}

/** Options of an identity outside a tree. The caller creates the ids, because the kernel has no randomness. */
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
  /** Returns the identity of a part of the work: a child token and a new span; all else unchanged. */
  child: (meta: RunMeta, spanId: string): RunMeta =>
    Object.freeze({ ...meta, cancellation: meta.cancellation.child(), spanId }),
  /** Checks the token, then the deadline. @throws CancellationError */
  check: (meta: RunMeta, now: number): void => {
    meta.cancellation.check();
    if (meta.deadline !== null && now > meta.deadline) throw new CancellationError({ reason: "deadline" });
  },
} as const;
