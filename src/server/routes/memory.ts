import { UserId } from "#kernel";
import type { ConversationOwner, Memories } from "#runtime";
import { whose } from "../auth.ts";
import { HttpError } from "../http-error.ts";
import { toJsonResponse, type Call, type Route, route, subscribe } from "../route.ts";
import { shape } from "../shape.ts";
import { actingUser, listedUser, userOf } from "../users.ts";

const key = shape.line({ max: 200 });
const words = shape.text({ max: 1_000 });

/** The user, where the caller may read memory of all users. Absent: the anonymous user. */
const user = { user: shape.optional(shape.id(UserId.of, "a user")) } as const;

/** Returns the user whose memory the caller reads. A caller without a user may name one. @throws HttpError */
function readOwner({ principal }: Call, named: UserId | undefined): ConversationOwner {
  const listed = listedUser(principal, named);
  return { ...whose(principal), ...(listed !== undefined && { user: listed }) };
}

const memoryOf = ({ host }: Call): Memories => host.runtime.memory;

/** Routes of agent memory, for its user and for operators of the tenant. */
export const memoryRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/memory/facts",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "Current facts, by key; with `history` also facts of other times",
    query: shape.object({ ...user, key: shape.optional(key), history: shape.optional(shape.flag()) }),
    handle: async (call) => {
      const { user: named, key: about, history = false } = call.query;
      const query = {
        ...(about !== undefined && { key: about }),
        ...(!history && { at: call.host.clock.now() }),
      };
      return toJsonResponse({ items: await memoryOf(call).facts(readOwner(call, named), query) });
    },
  }),
  route({
    method: "get",
    path: "/memory/blocks",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "Memory blocks of the user; for callers bound to no user also those of the tenant",
    query: shape.object(user),
    handle: async (call) => {
      const blocks = await memoryOf(call).blocks(readOwner(call, call.query.user));
      const isBound = userOf(call.principal) !== null;
      return toJsonResponse({ items: blocks.filter(({ shared }) => !isBound || shared !== "tenant") });
    },
  }),
  route({
    method: "post",
    path: "/memory/recall",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "Search facts and messages of earlier turns, best match first",
    body: shape.object({
      ...user,
      text: words,
      limit: shape.optional(shape.integer({ min: 1, max: 50 })),
    }),
    handle: async (call) => {
      const { user: named, text, limit = 20 } = call.body;
      return toJsonResponse({
        items: await memoryOf(call).recall(text, { ...readOwner(call, named), limit }),
      });
    },
  }),
  route({
    method: "post",
    path: "/memory/forget",
    scope: "run",
    forUsers: true,
    summary: "Erase one fact by its id, or all of a key with their history, and its values in recorded steps",
    body: shape.object({ ...user, key: shape.optional(key), fact: shape.optional(shape.line()) }),
    handle: async (call) => {
      const { user: named, key: about, fact } = call.body;
      const { principal } = call;
      const acting = actingUser(principal, named, "body.user");
      const owner = { ...whose(principal), ...(acting !== null && { user: acting }) };
      const { items, conversations } = await memoryOf(call).forget(whatToForget(about, fact), owner);
      return toJsonResponse({ forgotten: items.length, conversations });
    },
  }),
  route({
    method: "get",
    path: "/memory/export",
    scope: "read",
    forUsers: true,
    isContent: true,
    summary: "Facts and blocks of the user and of the user's sessions as JSON lines",
    answers: "application/x-ndjson",
    query: shape.object(user),
    handle: async (call) => {
      const owner = readOwner(call, call.query.user);
      return subscribe(call, async () => toMemoryLines(memoryOf(call), owner), {
        type: "application/x-ndjson",
      });
    },
  }),
];

/** @throws HttpError unless exactly one is named. */
function whatToForget(
  about: string | undefined,
  fact: string | undefined,
): { readonly key: string } | { readonly fact: string } {
  if (about !== undefined && fact === undefined) return { key: about };
  if (fact !== undefined && about === undefined) return { fact };
  throw new HttpError("invalid-request", "body: give either key or fact");
}

async function* toMemoryLines(memory: Memories, owner: ConversationOwner): AsyncGenerator<string, void> {
  for await (const record of memory.export(owner)) yield `${JSON.stringify(record)}\n`;
}
