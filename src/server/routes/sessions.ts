import { AgentId, EntryId, NotFoundError, SessionId, UserId } from "#kernel";
import type { Conversation, ConversationOwner } from "#runtime";
import { mayReadEntries, toOwner, partitionOf, whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route, subscribe } from "../route.ts";
import { shape } from "../shape.ts";
import { actingUser, listedUser, userOf } from "../users.ts";
import { agentOf } from "./agents.ts";
import { page } from "./runs.ts";
import { withoutContent } from "./session-entries.ts";
import { entryOrNone, startTree, turnBody, turnFields } from "./start-tree.ts";

const sessionId = shape.id(SessionId.of, "a session");
const entry = shape.id(EntryId.of, "an entry");
const title = shape.text({ max: 1_000 });
const instructions = shape.text({ max: 10_000 });

/** User of the session, for callers that may read all users. Absent: the anonymous user. */
const user = { user: shape.optional(shape.id(UserId.of, "a user")) } as const;

const readSessionId = ({ params }: Call): SessionId => sessionId.decode(params["session"], "session");

/** The conversation that an address names. @throws NotFoundError also if it is another tenant's or another user's. */
const conversationOf = (call: Call): Promise<Conversation> =>
  call.host.runtime.sessions.get(readSessionId(call), toOwner(call.principal));

type ReadCall = Call<{ readonly user?: UserId }>;

/** Returns the user whose conversations the caller reads. A caller without a user may name one. @throws HttpError */
function readOwner({ principal, query }: ReadCall): ConversationOwner {
  const named = listedUser(principal, query.user);
  return { ...whose(principal), ...(named !== undefined && { user: named }) };
}

/** The conversation that an address names, for callers that read. @throws NotFoundError */
const readConversation = (call: ReadCall): Promise<Conversation> =>
  call.host.runtime.sessions.get(readSessionId(call), readOwner(call));

const listRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/sessions",
    scope: "read",
    forUsers: true,
    summary: "Conversations, newest first",
    query: shape.object({
      ...page,
      ...user,
      agent: shape.optional(shape.id(AgentId.of, "an agent")),
      unnamed: shape.optional(shape.flag()),
    }),
    handle: async (call) => {
      const { size = 50, after, user: _, ...filter } = call.query;
      const wanted = { size, ...(after !== undefined && { after }) };
      return toJsonResponse(await call.host.runtime.sessions.list({ ...filter, ...readOwner(call) }, wanted));
    },
  }),
  route({
    method: "post",
    path: "/sessions",
    scope: "run",
    forUsers: true,
    summary: "Start a conversation with an agent; the same id again is the same conversation",
    body: shape.object({
      agent: shape.line(),
      id: shape.optional(sessionId),
      channel: shape.optional(shape.line()),
      title: shape.optional(title),
      metadata: shape.optional(shape.record()),
    }),
    handle: async ({ host, principal, body }) => {
      const { agent, ...given } = body;
      const options = { ...given, ...toOwner(principal) };
      const { id } = await host.runtime.sessions.create(agentOf(host, agent), options);
      return toJsonResponse({ id });
    },
  }),
];

const readRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/sessions/:session",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "A conversation: its head, the tree that has the turn, and how full the model's context is",
    query: shape.object(user),
    handle: async (call) => {
      const talk = await readConversation(call);
      const holder = call.host.runtime.turn(talk.id, readOwner(call));
      const read = [talk.head(), holder, talk.phase(), talk.contextUsage()] as const;
      const [head, turn, phase, contextUsage] = await Promise.all(read);
      return toJsonResponse({ ...head, phase, turn, contextUsage });
    },
  }),
  route({
    method: "get",
    path: "/sessions/:session/messages",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "The messages of the current branch of the conversation, newest first",
    query: shape.object({ ...user, size: page.size, after: shape.optional(entry) }),
    handle: async (call) => {
      const { user: _, ...wanted } = call.query;
      return toJsonResponse(await (await readConversation(call)).messages(wanted));
    },
  }),
  route({
    method: "get",
    path: "/sessions/:session/export",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "The whole conversation as JSON lines: a header, then every entry",
    answers: "application/x-ndjson",
    query: shape.object(user),
    handle: async (call) => {
      const talk = await readConversation(call);
      return subscribe(call, async () => toSessionLines(talk), { type: "application/x-ndjson" });
    },
  }),
  route({
    method: "get",
    path: "/sessions/:session/entries",
    scope: "read",
    forUsers: true,
    summary: "Every entry of every branch, oldest first; without content for keys that lack the scope",
    query: shape.object({ ...user, size: page.size, after: shape.optional(entry) }),
    handle: async (call) => {
      const { host, principal, query } = call;
      const id = readSessionId(call);
      const { sessions } = host.runtime.store;
      const partition = partitionOf(principal);
      const { size = 50, after = null } = query;
      // The user is part of the key: another user's session is not found.
      const key = { id, userId: listedUser(principal, query.user) ?? null };
      const head = await sessions.head(partition, key);
      if (!head) throw new NotFoundError({ what: "session", id });
      const items = await sessions.entries(partition, key, { after, limit: size });
      const hasContent = mayReadEntries(principal);
      return toJsonResponse({ ...head, hasContent, items: hasContent ? items : items.map(withoutContent) });
    },
  }),
];

const writeRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/sessions/:session/turns",
    scope: "run",
    forUsers: true,
    pool: "starts",
    takesFiles: true,
    summary: "Start a turn of a conversation; the same id again is the same turn",
    body: turnBody,
    handle: async (call) => {
      const talk = await conversationOf(call);
      const begin = talk.start.bind(talk);
      return startTree(call, { agent: talk.agent, user: userOf(call.principal), turn: call.body, begin });
    },
  }),
  route({
    method: "post",
    path: "/sessions/:session/compaction",
    scope: "run",
    forUsers: true,
    pool: "starts",
    summary: "Compact the oldest part of a conversation; the output of the run is the entry, or null",
    body: shape.object({
      ...user,
      id: turnFields.id,
      budget: turnFields.budget,
      instructions: shape.optional(instructions),
    }),
    handle: async (call) => {
      const { user: named, instructions: told, ...turn } = call.body;
      const { host, principal } = call;
      const acting = actingUser(principal, named, "body.user");
      const owner = { ...whose(principal), ...(acting !== null && { user: acting }) };
      const talk = await host.runtime.sessions.get(readSessionId(call), owner);
      const more = told === undefined ? {} : { instructions: told };
      return startTree(call, {
        agent: talk.agent,
        user: acting,
        turn: { ...turn, input: "" },
        begin: (_input, options) => talk.startCompaction({ ...options, ...more }),
      });
    },
  }),
  route({
    method: "post",
    path: "/sessions/:session/navigate",
    scope: "run",
    forUsers: true,
    summary: "Move the head to an earlier entry, which the next turn follows; null: to the beginning",
    body: shape.object({ entry: entryOrNone }),
    handle: async (call) => {
      await (await conversationOf(call)).navigate(call.body.entry);
      return toJsonResponse({});
    },
  }),
  route({
    method: "post",
    path: "/sessions/:session/fork",
    scope: "run",
    forUsers: true,
    summary: "A new conversation with everything up to an entry, by default all of it",
    body: shape.object({ entry: shape.optional(entry) }),
    handle: async (call) =>
      toJsonResponse({ id: (await (await conversationOf(call)).fork(call.body.entry)).id }),
  }),
  route({
    method: "patch",
    path: "/sessions/:session",
    scope: "run",
    forUsers: true,
    summary: "Change the title of a conversation; null removes it",
    body: shape.object({ title: shape.nullable(title) }),
    handle: async (call) => {
      await (await conversationOf(call)).rename(call.body.title);
      return toJsonResponse({});
    },
  }),
  route({
    method: "delete",
    path: "/sessions/:session",
    scope: "run",
    forUsers: true,
    summary: "Erase a conversation with all its messages",
    handle: async (call) => {
      await (await conversationOf(call)).delete();
      return toJsonResponse({});
    },
  }),
];

export const sessionRoutes: readonly Route[] = [...listRoutes, ...readRoutes, ...writeRoutes];

async function* toSessionLines(talk: Conversation): AsyncGenerator<string, void> {
  yield* talk.export();
}
