import { EntryId, NotFoundError, SessionId, UserId } from "#kernel";
import { partitionOf } from "../auth.ts";
import { answer, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";
import { page } from "./runs.ts";

const sessionId = shape.id(SessionId.of, "a session");

export const sessionRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/sessions",
    scope: "read",
    summary: "Conversations, newest first",
    query: shape.object({ ...page, user: shape.optional(shape.id(UserId.of, "a user")) }),
    handle: async ({ host, principal, query }) => {
      const { size = 50, after, user } = query;
      const { sessions } = host.runtime.store;
      const filter = user === undefined ? {} : { userId: user };
      const wanted = { size, ...(after !== undefined && { after }) };
      return answer(await sessions.list(partitionOf(principal), filter, wanted));
    },
  }),
  route({
    method: "get",
    path: "/sessions/:session/entries",
    scope: "read",
    summary: "Every entry of every branch, in the order they came",
    query: shape.object({
      size: page.size,
      after: shape.optional(shape.id(EntryId.of, "an entry")),
    }),
    handle: async ({ host, principal, params, query }) => {
      const id = sessionId.decode(params["session"], "session");
      const { sessions } = host.runtime.store;
      const partition = partitionOf(principal);
      const head = await sessions.head(partition, id);
      if (!head) throw new NotFoundError({ what: "session", id });
      const { size = 50, after = null } = query;
      return answer({ ...head, items: await sessions.entries(partition, id, after, size) });
    },
  }),
];
