import { whose } from "../auth.ts";
import { answer, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";

const head = shape.object({ index: shape.whole(), hash: shape.text() });

export const auditRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/audit",
    scope: "admin",
    summary: "Who decided what: links of the tenant's chain, from an index on",
    query: shape.object({
      from: shape.optional(shape.whole()),
      size: shape.optional(shape.whole({ min: 1, max: 1_000 })),
    }),
    handle: async ({ host, principal, query }) => {
      const { from = 0, size = 100 } = query;
      return answer({ items: await host.runtime.audit.read({ ...whose(principal), from, limit: size }) });
    },
  }),
  route({
    method: "get",
    path: "/audit/head",
    scope: "admin",
    summary: "The last link; null while there is none. Keep it elsewhere",
    handle: async ({ host, principal }) => answer(await host.runtime.audit.head(whose(principal))),
  }),
  route({
    method: "post",
    path: "/audit/verify",
    scope: "admin",
    room: "reads",
    summary: "Walk the whole chain; with a head that it once had, also to see whether links were cut off",
    body: shape.object({ head: shape.optional(head) }),
    handle: async ({ host, principal, body }) =>
      answer(await host.runtime.audit.verify({ ...whose(principal), head: body.head ?? null })),
  }),
];
