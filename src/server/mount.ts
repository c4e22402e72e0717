import type { Agent, TreeId, UserId } from "#kernel";
import type { Runtime, StartOptions } from "#runtime";
import { mayDo, ownerOf, type Principal, type Scope, whose } from "./auth.ts";
import type { Call, ServerHost } from "./route.ts";
import { heardOf } from "./routes/heard-of.ts";
import { treeOf } from "./routes/run-of.ts";
import { limitStart } from "./start-limits.ts";
import { deciderOf, userOf } from "./users.ts";

/** A request to a mounted part, with what its caller may do. The gate has let it pass. */
export interface MountedCall {
  readonly request: Request;
  /** The body as JSON; null: it has none. */
  readonly body: unknown;
  readonly runtime: Runtime;
  /** The longest time that the answer may take. */
  readonly answerS: number;
  /** The name under which decisions of the caller are recorded. */
  readonly decider: string;
  readonly mayDo: (scope: Scope) => boolean;
  /** Starts a tree of the caller, within the limits of its key. @throws RefusalError */
  readonly start: (agent: Agent, input: string, id: TreeId) => Promise<ReturnType<Runtime["run"]>>;
  /** Finds a tree of the caller. @throws NotFoundError also for trees of others. */
  readonly find: (tree: TreeId) => Promise<ReturnType<Runtime["run"]>>;
}

/** A protocol that the server speaks beside its own routes, behind the same gate. */
export interface ServerMount {
  /** The path, such as `/mcp`. */
  readonly path: string;
  /** The scope that every caller needs. */
  readonly scope: Scope;
  handle(call: MountedCall): Promise<Response>;
}

const hold = (work: Promise<unknown>): void => void work.catch(() => undefined);

/** Creates the call of a mounted part. */
export function toMountedCall(
  { request, body }: Pick<MountedCall, "request" | "body">,
  host: ServerHost,
  principal: Principal,
): MountedCall {
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const call: Call = { host, principal, params: {}, query: {}, body, header, hold };
  const user: UserId | null = userOf(principal);
  return {
    request,
    body,
    runtime: host.runtime,
    answerS: host.limits.answerS,
    decider: deciderOf(principal),
    mayDo: (scope) => mayDo(principal, scope),
    start: async (agent, input, id) => {
      const options: StartOptions = { ...limitStart(call, agent, {}), ...ownerOf(principal), id };
      const run = await host.runtime.start(agent, input, options);
      host.recent.add(principal, run.treeId, user);
      hold(heardOf(call, run.treeId));
      return host.runtime.run(run.treeId, whose(principal));
    },
    find: async (tree) => {
      const run = await treeOf(call, tree);
      await run.status();
      return run;
    },
  };
}
