import { type AuditHead, RunId, TreeId } from "#kernel";
import { whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route, subscribe } from "../route.ts";
import { shape } from "../shape.ts";

const head = shape.object({ index: shape.integer(), hash: shape.line() });

interface VerifyBody {
  readonly head?: AuditHead;
  readonly progress?: boolean;
}

/** Verifies a chain and reports progress after each page: lines of `checked` and `length`, then the report. */
async function* verifyWithProgress({
  host,
  principal,
  body,
}: Call<unknown, VerifyBody>): AsyncGenerator<string, void> {
  const { audit } = host.runtime;
  const owner = whose(principal);
  const length = ((await audit.head(owner))?.index ?? -1) + 1;
  const state = { checked: 0, isOver: false };
  let wake = Promise.withResolvers<void>();
  const onProgress = (links: number): void => {
    state.checked = links;
    wake.resolve();
  };
  const verifying = audit.verify({ ...owner, head: body.head ?? null, onProgress }).finally(() => {
    state.isOver = true;
    wake.resolve();
  });
  // Thrown below, where it is awaited.
  verifying.catch(() => undefined);
  while (!state.isOver) {
    yield line({ checked: state.checked, length });
    await wake.promise;
    wake = Promise.withResolvers<void>();
  }
  const verdict = await verifying;
  yield line({ at: host.clock.now(), verdict, hadHead: body.head !== undefined });
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

export const auditRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/audit",
    scope: "admin",
    summary: "The decisions in the tenant's audit chain, newest first",
    query: shape.object({
      kind: shape.optional(shape.line()),
      tree: shape.optional(shape.id(TreeId.of, "a tree")),
      run: shape.optional(shape.id(RunId.parse, "a run")),
      before: shape.optional(shape.integer()),
      size: shape.optional(shape.integer({ min: 1, max: 1_000 })),
    }),
    handle: async ({ host, principal, query }) => {
      const { size = 100, ...filter } = query;
      return toJsonResponse(await host.runtime.audit.list({ ...whose(principal), ...filter, limit: size }));
    },
  }),
  route({
    method: "get",
    path: "/audit/head",
    scope: "admin",
    summary: "The last link; null if there is none. Store it outside the database",
    handle: async ({ host, principal }) => toJsonResponse(await host.runtime.audit.head(whose(principal))),
  }),
  route({
    method: "get",
    path: "/audit/report",
    scope: "admin",
    summary: "The last verification: its time and its result; null if there was none",
    handle: async ({ host, principal }) =>
      toJsonResponse(await host.runtime.audit.lastReport(whose(principal))),
  }),
  route({
    method: "post",
    path: "/audit/verify",
    scope: "admin",
    pool: "reads",
    summary:
      "Verify the whole chain; with an earlier head, also detect removed links. With `progress`, the answer is a stream of JSON lines",
    body: shape.object({ head: shape.optional(head), progress: shape.optional(shape.flag()) }),
    handle: async (call) => {
      const { host, principal, body } = call;
      if (body.progress === true)
        return subscribe(call, async () => verifyWithProgress(call), { type: "application/x-ndjson" });
      return toJsonResponse(
        await host.runtime.audit.verify({ ...whose(principal), head: body.head ?? null }),
      );
    },
  }),
];
