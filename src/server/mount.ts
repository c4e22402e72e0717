import {
  AgentId,
  Json,
  NotFoundError,
  TreeId,
  type Agent,
  type ApprovalRecord,
  type RunRecord,
  type RunResult,
  type UserId,
} from "#kernel";
import { systemClock, withTimeout } from "#base";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { mayDo, toOwner, type Principal, type Scope, whose } from "./auth.ts";
import { checkScope } from "./gate.ts";
import { type Call, type ServerDeps, subscribe } from "./route.ts";
import { waitUntilListed } from "./routes/wait-until-listed.ts";
import { findTreeRun } from "./routes/find-run.ts";
import { limitStart } from "./start-limits.ts";
import { deciderOf, userOf } from "./users.ts";

/** A request to a mounted part, with what its caller may do. The gate has let it pass. */
export interface MountedCall {
  readonly request: Request;
  /** The body as JSON; null: it has none. */
  readonly body: unknown;
  readonly runtime: Runtime;
  /** The longest time that the answer may take. */
  readonly requestTimeoutMs: number;
  readonly mayDo: (scope: Scope) => boolean;
  /** Starts a tree of the caller, within the limits of its key. @throws HttpError */
  readonly start: (agent: Agent, input: string, id: TreeId) => Promise<ReturnType<Runtime["run"]>>;
  /**
   * Finds a tree of the caller that one of these agents is the root of. @throws NotFoundError for every other one, and for
   * a text that is not an id.
   */
  readonly find: (id: string, agents: readonly Agent[]) => Promise<MountedTree>;
  /** Returns the questions of a tree that are open. */
  readonly questions: (run: RunHandle) => Promise<readonly ApprovalRecord[]>;
  /** Waits for the end of a tree. Null if the tree still runs after `waitS` seconds, or waits for an approval. */
  readonly wait: (run: RunHandle, waitS: number) => Promise<RunResult | null>;
  /** Decides about a question of a tree. @throws HttpError if the key may not approve. */
  readonly decide: (run: RunHandle, decision: MountedDecision) => Promise<void>;
  /** Answers with server-sent events, if there is a place for one more reader. The signal ends with the reader. */
  readonly stream: (
    begin: (signal: AbortSignal) => Promise<AsyncGenerator<string, void>>,
  ) => Promise<Response>;
}

/** A tree of the caller. */
export interface MountedTree {
  readonly run: ReturnType<Runtime["run"]>;
  readonly root: RunRecord;
}

/** A decision about a question of a tree. */
export interface MountedDecision {
  readonly approval: string;
  readonly decision: "approved" | "denied" | "edited";
  readonly arguments?: unknown;
}

/** A protocol that the server speaks beside its own routes, behind the same gate. */
export interface ServerMount {
  /** The path, such as `/mcp`. */
  readonly path: string;
  /** The scope that every caller needs. */
  readonly scope: Scope;
  handle(call: MountedCall): Promise<Response>;
  /** Answers reads of the path for everyone, without a key. Default: every caller needs one. */
  readonly publish?: (() => Promise<Response>) | undefined;
}

const ignoreRejection = (work: Promise<unknown>): void => void work.catch(() => undefined);

/** Creates the call of a mounted part. */
export function toMountedCall(
  { request, body }: Pick<MountedCall, "request" | "body">,
  host: ServerDeps,
  principal: Principal,
): MountedCall {
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const call: Call = { host, principal, params: {}, query: {}, body, header, hold: ignoreRejection };
  const user: UserId | null = userOf(principal);
  return {
    request,
    body,
    runtime: host.runtime,
    requestTimeoutMs: host.limits.requestTimeoutMs,
    mayDo: (scope) => mayDo(principal, scope),
    start: async (agent, input, id) => {
      const options: StartOptions = { ...limitStart(call, agent, {}), ...toOwner(principal), id };
      const run = await host.runtime.start(agent, input, options);
      host.recent.add(principal, run.treeId, user);
      ignoreRejection(waitUntilListed(call, run.treeId));
      return host.runtime.run(run.treeId, whose(principal));
    },
    find: (id, agents) => findTree(call, id, agents),
    questions: readQuestions,
    wait: (run, waitS) => {
      const limit = { clock: systemClock, ms: waitS * 1000, onTimeout: () => null, bestEffort: true };
      return withTimeout<RunResult | null>(limit, ({ signal }) => waitForEndOrQuestion(run, signal));
    },
    decide: async (run, { approval, decision, arguments: given }) => {
      checkScope(principal, "approve");
      const by = deciderOf(principal);
      if (decision === "approved") await run.approve(approval, { by });
      else if (decision === "denied") await run.deny(approval, { by });
      else await run.edit(approval, Json.of(given ?? null), { by });
    },
    stream: (begin) => subscribe(call, begin),
  };
}

/** @throws NotFoundError that is the same for a tree of another caller or agent as for one that does not exist. */
async function findTree(call: Call, id: string, agents: readonly Agent[]): Promise<MountedTree> {
  const tree = readTreeId(id);
  const run = await findTreeRun(call, tree);
  const root = await call.host.runtime.runs.root(tree, whose(call.principal));
  const isOffered = agents.some((agent) => root && AgentId.type(agent.id) === AgentId.type(root.agentId));
  if (!root || !isOffered) throw new NotFoundError({ what: "run", id: run.runId });
  return { run, root };
}

/** @throws NotFoundError for what can be no id. */
function readTreeId(text: string): TreeId {
  try {
    return TreeId.of(text);
  } catch {
    throw new NotFoundError({ what: "run", id: text });
  }
}

const readQuestions = async (run: RunHandle): Promise<readonly ApprovalRecord[]> =>
  (await run.approvals()).filter(({ decision }) => decision === null);

/** Resolves with the result, or with null once the tree waits for an approval. */
async function waitForEndOrQuestion(run: RunHandle, signal: AbortSignal): Promise<RunResult | null> {
  const hasQuestions = async (): Promise<boolean> => (await readQuestions(run)).length > 0;
  if (await hasQuestions()) return null;
  for await (const { type } of run.events({ signal }))
    if (type === "approval.requested" && (await hasQuestions())) return null;
  return run.result();
}
