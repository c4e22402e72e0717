import { hash, randomUUID } from "node:crypto";
import { ApprovalRefusedError, SessionId } from "#kernel";
import type { RunHandle } from "#runtime";
import { type ChatTurn, chatBody, readTurn } from "../chat/chat-request.ts";
import { listening, uiStream, type UiStreamOptions } from "../chat/ui-stream.ts";
import { frame } from "../event-stream.ts";
import { checkScope } from "../gate.ts";
import { whose } from "../auth.ts";
import { type Call, type Route, route, subscribe } from "../route.ts";
import { type Decoded, shape } from "../shape.ts";
import { heardOf } from "./heard-of.ts";
import { agentOf } from "./agents.ts";

type ChatCall = Call<unknown, Decoded<typeof chatBody>>;

const chatId = shape.id(SessionId.of, "a chat");

export const chatRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/chat/:agent",
    scope: "run",
    room: "starts",
    summary:
      "The newest message of an AI SDK chat: a tree in the session of that name, as a UI message stream",
    answers: "text/event-stream",
    body: chatBody,
    handle: async (call) => {
      const turn = readTurn(call.body.messages);
      return turn.kind === "say" ? say(call, turn) : answerTo(call, turn);
    },
  }),
  route({
    method: "get",
    path: "/chat/:agent/:chat/stream",
    scope: "read",
    room: "calls",
    summary: "The newest answer of a chat, given or being given, from its beginning; 204 if there is none",
    answers: "text/event-stream",
    handle: async (call) => {
      const { host, params } = call;
      agentOf(host, params["agent"] ?? "");
      const run = await newestIn(call, chatId.decode(params["chat"], "chat"));
      return run ? stream(call, run) : new Response(null, { status: 204 });
    },
  }),
];

/**
 * The tree that answers in a chat or, where none does, the last that did: whoever was cut off may not have seen its end.
 * Null also if its words are gone: they would be taken from those who have them.
 */
async function newestIn({ host, principal }: Call, chat: SessionId): Promise<RunHandle | null> {
  const owner = whose(principal);
  const { runtime } = host;
  const answering = await runtime.turn(chat, owner);
  if (answering !== null) return runtime.run(answering, owner);
  const { items } = await runtime.runs.list({ ...owner, sessionId: chat, rootsOnly: true }, { size: 1 });
  const last = items[0] && runtime.run(items[0].treeId, owner);
  return last && !(await last.outcome())?.erased ? last : null;
}

/** One message is one tree: sent again because its answer was lost, it is not a second one. */
async function say(
  call: ChatCall,
  { message, text }: Extract<ChatTurn, { readonly kind: "say" }>,
): Promise<Response> {
  const { host, principal, params, body } = call;
  const agent = agentOf(host, params["agent"] ?? "");
  const name = body.trigger === "regenerate-message" ? randomUUID() : message;
  const id = `chat-${hash("sha256", JSON.stringify([agent.id, body.id, name])).slice(0, 40)}`;
  const options = { id, session: body.id, channel: "chat", ...whose(principal) };
  const begin = async (): Promise<void> => {
    const { treeId } = await host.runtime.start(agent, text, options);
    call.hold(heardOf(call, treeId));
  };
  return stream(call, host.runtime.run(id, whose(principal)), { begin });
}

/** Whoever answers must be somebody who may. What was answered before stays as it is. */
async function answerTo(
  call: ChatCall,
  { tree, answers, shown }: Extract<ChatTurn, { readonly kind: "answer" }>,
): Promise<Response> {
  const { host, principal } = call;
  checkScope(principal, "approve");
  const run = host.runtime.run(tree, whose(principal));
  await run.status();
  const begin = async (): Promise<void> => {
    for (const { approval, isApproved, reason } of answers) {
      const said = { by: principal.id, ...(reason !== undefined && { reason }) };
      const decided = isApproved ? run.approve(approval, said) : run.deny(approval, said);
      await decided.catch((error: unknown) => {
        if (!(error instanceof ApprovalRefusedError && error.reason === "decided")) throw error;
      });
    }
  };
  return stream(call, run, { begin, shown });
}

interface StreamOptions extends Pick<UiStreamOptions, "shown"> {
  /** What is to be done once somebody listens. */
  readonly begin?: () => Promise<void>;
}

function stream(call: Call, run: RunHandle, { begin, ...options }: StreamOptions = {}): Promise<Response> {
  const opened = async (signal: AbortSignal): Promise<AsyncGenerator<string, void>> => {
    const deltas = listening(run.deltas({ signal }));
    await begin?.();
    const events = call.host.feeds.events({ run, principal: call.principal, after: 0, signal });
    return frames(run, { ...options, events, deltas });
  };
  return subscribe(call, opened, { "x-vercel-ai-ui-message-stream": "v1" });
}

async function* frames(run: RunHandle, options: UiStreamOptions): AsyncGenerator<string, void> {
  for await (const chunk of uiStream(run, options)) yield frame(JSON.stringify(chunk));
  yield frame("[DONE]");
}
