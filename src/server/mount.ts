import {
  AgentId,
  NotFoundError,
  TreeId,
  type Agent,
  type Labels,
  type RunRecord,
  type UserId,
} from "#kernel";
import type { StartOptions } from "#runtime";
import { mayDo, toOwner, type Principal, type Scope, whose } from "./auth.ts";
import { MountedRun, mintTreeId } from "./mounted-run.ts";
import { type Call, type ServerDeps, subscribe } from "./route.ts";
import { waitUntilListed } from "./routes/wait-until-listed.ts";
import { findTreeRun } from "./routes/find-run.ts";
import { limitStart } from "./start-limits.ts";
import { userOf } from "./users.ts";

/** A request to a mounted part, with what its caller may do. The gate has let it pass. */
export interface MountedCall {
  readonly request: Request;
  /** The body as JSON; null: it has none. */
  readonly body: unknown;
  /** The longest time that the answer may take. */
  readonly requestTimeoutMs: number;
  readonly mayDo: (scope: Scope) => boolean;
  /** Starts a tree of the caller, within the limits of its key. @throws HttpError */
  readonly start: (agent: Agent, input: string) => Promise<MountedRun>;
  /**
   * Finds a tree of the caller that one of these agents is the root of. @throws NotFoundError for every other one, and for
   * a text that is not an id.
   */
  readonly find: (id: string, agents: readonly Agent[]) => Promise<MountedTree>;
  /** Answers with server-sent events, if there is a place for one more reader. The signal ends with the reader. */
  readonly stream: (
    begin: (signal: AbortSignal) => Promise<AsyncGenerator<string, void>>,
  ) => Promise<Response>;
}

/** A tree of the caller. */
export interface MountedTree {
  readonly run: MountedRun;
  readonly root: RunRecord;
}

/** A protocol that the server speaks beside its own routes, behind the same gate. */
export interface ServerMount {
  /** The path, such as `/mcp`. */
  readonly path: string;
  /** The scope that every caller needs. */
  readonly scope: Scope;
  /** Labels of the tasks that come through it, as of the input of a start. Default: none. */
  readonly labels?: Partial<Labels> | undefined;
  handle(call: MountedCall): Promise<Response>;
  /** Answers reads of the path for everyone, without a key. Default: every caller needs one. */
  readonly publish?: (() => Promise<Response>) | undefined;
}

const ignoreRejection = (work: Promise<unknown>): void => void work.catch(() => undefined);

/** Creates the call of a mounted part. */
export function toMountedCall(
  { request, body, labels }: Pick<MountedCall, "request" | "body"> & Pick<ServerMount, "labels">,
  host: ServerDeps,
  principal: Principal,
): MountedCall {
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const call: Call = { host, principal, params: {}, query: {}, body, header, hold: ignoreRejection };
  const user: UserId | null = userOf(principal);
  return {
    request,
    body,
    requestTimeoutMs: host.limits.requestTimeoutMs,
    mayDo: (scope) => mayDo(principal, scope),
    start: async (agent, input) => {
      const id = mintTreeId(principal);
      const limited = { ...limitStart(call, agent, {}), ...toOwner(principal) };
      const options: StartOptions = { ...limited, id, ...(labels && { labels }) };
      await host.runtime.start(agent, input, options);
      host.recent.add(principal, id, user);
      ignoreRejection(waitUntilListed(call, id));
      return new MountedRun(host.runtime.run(id, whose(principal)), principal);
    },
    find: (id, agents) => findTree(call, id, agents),
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
  return { run: new MountedRun(run, call.principal), root };
}

/** @throws NotFoundError for what can be no id. */
function readTreeId(text: string): TreeId {
  try {
    return TreeId.of(text);
  } catch {
    throw new NotFoundError({ what: "run", id: text });
  }
}
