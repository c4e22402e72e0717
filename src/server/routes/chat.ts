import { ApprovalRefusedError, EntryId, SessionId, type TreeId } from "#kernel";
import type { RunHandle, Session } from "#runtime";
import { firstOf, findChatTarget, sessionOf } from "../chat/chat-target.ts";
import { type ChatTurn, chatBody, readTurn } from "../chat/chat-request.ts";
import { uiHistory } from "../chat/ui-history.ts";
import { uiStream, type UiStreamOptions } from "../chat/ui-stream.ts";
import { frame } from "../event-stream.ts";
import { checkScope } from "../gate.ts";
import { listenAtOnce } from "../merge.ts";
import { toOwner, whose } from "../auth.ts";
import { deciderOf, userOf } from "../users.ts";
import { toJsonResponse, type Call, type Route, route, subscribe } from "../route.ts";
import { type Decoded, shape } from "../shape.ts";
import { limitStart } from "../start-limits.ts";
import { waitUntilListed } from "./wait-until-listed.ts";
import { agentOf } from "./agents.ts";
import { findTreeRun } from "./find-run.ts";
import { page } from "./runs.ts";

type ChatCall = Call<unknown, Decoded<typeof chatBody>>;

const chatId = shape.id(SessionId.of, "a chat");

export const chatRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/chat/:agent",
    scope: "run",
    forUsers: true,
    isContent: true,
    pool: "starts",
    takesFiles: true,
    summary:
      "The newest message of an AI SDK chat: a tree in the session of that name, as a UI message stream",
    answers: "text/event-stream",
    body: chatBody,
    handle: async (call) => {
      const turn = readTurn(call.body.messages);
      return turn.kind === "say" ? startTurn(call, turn) : answerTo(call, turn);
    },
  }),
  route({
    method: "get",
    path: "/chat/:agent/:chat/stream",
    scope: "read",
    forUsers: true,
    isContent: true,
    pool: "calls",
    summary: "The newest answer of a chat, complete or streaming, from its beginning; 204 if there is none",
    answers: "text/event-stream",
    handle: async (call) => {
      const { host, params } = call;
      agentOf(host, params["agent"] ?? "");
      const chat = chatId.decode(params["chat"], "chat");
      const run = await newestIn(call, chat);
      return run ? stream(call, run, { chat }) : new Response(null, { status: 204 });
    },
  }),
  route({
    method: "get",
    path: "/chat/:agent/:chat/messages",
    scope: "read",
    forUsers: true,
    isContent: true,
    pool: "calls",
    summary: "The messages of a chat as UI messages, oldest first; `next` is the cursor of the page before",
    query: shape.object({ size: page.size, after: shape.optional(shape.id(EntryId.of, "an entry")) }),
    handle: async (call) => {
      const { host, principal, params, query } = call;
      agentOf(host, params["agent"] ?? "");
      const chat = chatId.decode(params["chat"], "chat");
      const owner = toOwner(principal);
      const session = sessionOf(host.runtime.store, chat, owner);
      const from = query.after ?? (await newestEntry(session, await host.runtime.turn(chat, owner)));
      return toJsonResponse(await uiHistory(session, { from, size: query.size ?? 50 }));
    },
  }),
];

/** The newest entry of a chat: the message that is being answered, or the end of the newest turn. */
async function newestEntry(session: Session, answering: TreeId | null): Promise<EntryId | null> {
  if (answering !== null) {
    const from = firstOf(answering);
    const [entry] = await session.store.path(session.partition, session.key, { from, limit: 1 });
    if (entry) return from;
  }
  return session.leaf();
}

/**
 * Returns the tree that answers in a chat or, if none does, the last one that did: a client that was disconnected may
 * have missed its end. Null also if its content is erased: replaying it would remove the content from clients that
 * still show it.
 */
async function newestIn({ host, principal }: Call, chat: SessionId): Promise<RunHandle | null> {
  const userId = userOf(principal);
  const owner = whose(principal);
  const { runtime } = host;
  const answering = await runtime.turn(chat, toOwner(principal));
  if (answering !== null) return runtime.run(answering, owner);
  // Another user's chat of that name is another chat.
  const filter = { ...owner, userId, sessionId: chat, rootsOnly: true };
  const { items } = await runtime.runs.list(filter, { size: 1 });
  const last = items[0] && runtime.run(items[0].treeId, owner);
  return last && !(await last.resultNow())?.erased ? last : null;
}

/** Starts one tree per message. An edited or regenerated message continues from the same earlier entry. */
async function startTurn(
  call: ChatCall,
  { message, input }: Extract<ChatTurn, { readonly kind: "say" }>,
): Promise<Response> {
  const { host, principal, params, body } = call;
  const { runtime } = host;
  const agent = agentOf(host, params["agent"] ?? "");
  const owner = toOwner(principal);
  const isAgain = body.messageId !== undefined;
  const kind = body.trigger === "regenerate-message" ? "regenerate" : isAgain ? "again" : "new";
  const answering = kind === "new" ? null : await runtime.turn(body.id, owner);
  const place = await findChatTarget(sessionOf(runtime.store, body.id, owner), answering, {
    agent: agent.id,
    chat: body.id,
    message,
    input,
    kind,
  });
  const run = runtime.run(place.id, whose(principal));
  if (place.kind === "started") return stream(call, run, { chat: body.id });
  const { id, after } = place;
  const limited = limitStart(call, agent, {});
  const { labels = {} } = body;
  const options = { id, session: body.id, channel: "chat", labels, ...limited, ...owner };
  const begin = async (): Promise<void> => {
    await runtime.start(agent, input, { ...options, ...(after !== undefined && { after }) });
    call.hold(waitUntilListed(call, id));
  };
  return stream(call, run, { chat: body.id, begin });
}

/** Only a caller that may decide can answer. Earlier decisions remain unchanged. */
async function answerTo(
  call: ChatCall,
  { tree, answers, shown }: Extract<ChatTurn, { readonly kind: "answer" }>,
): Promise<Response> {
  const { principal, body } = call;
  checkScope(principal, "approve");
  const run = await findTreeRun(call, tree);
  await run.status();
  const begin = async (): Promise<void> => {
    for (const { approval, isApproved, reason } of answers) {
      const said = { by: deciderOf(principal), ...(reason !== undefined && { reason }) };
      const decided = isApproved ? run.approve(approval, said) : run.deny(approval, said);
      await decided.catch((error: unknown) => {
        if (!(error instanceof ApprovalRefusedError && error.reason === "decided")) throw error;
      });
    }
  };
  return stream(call, run, { chat: body.id, begin, shown });
}

interface StreamOptions extends Pick<UiStreamOptions, "shown"> {
  readonly chat: SessionId;
  /** Called once the stream is open. */
  readonly begin?: () => Promise<void>;
}

function stream(call: Call, run: RunHandle, { chat, begin, ...options }: StreamOptions): Promise<Response> {
  const openFrames = async (signal: AbortSignal): Promise<AsyncGenerator<string, void>> => {
    const deltas = listenAtOnce(run.deltas({ signal }));
    await begin?.();
    const events = call.host.feeds.events({ run, principal: call.principal, after: 0, signal });
    const waitUntilFree = (): Promise<void> => pollUntilFree(call, { chat, tree: run.treeId, signal });
    return toChatFrames(run, { ...options, waitUntilFree, events, deltas });
  };
  return subscribe(call, openFrames, { headers: { "x-vercel-ai-ui-message-stream": "v1" } });
}

async function* toChatFrames(run: RunHandle, options: UiStreamOptions): AsyncGenerator<string, void> {
  for await (const chunk of uiStream(run, options)) yield frame(JSON.stringify(chunk));
  yield frame("[DONE]");
}

/** Asks again and again, ever more seldom, until a tree that has ended has given its turn back. */
async function pollUntilFree(
  { host, principal }: Call,
  { chat, tree, signal }: { readonly chat: SessionId; readonly tree: TreeId; readonly signal: AbortSignal },
): Promise<void> {
  const { clock, runtime } = host;
  const isHeld = async (): Promise<boolean> => (await runtime.turn(chat, toOwner(principal))) === tree;
  for (let waitMs = 2; !signal.aborted && (await isHeld()); waitMs = Math.min(2 * waitMs, 1_000))
    await clock.waitUntil(clock.now() + waitMs);
}
