import { hash, randomUUID } from "node:crypto";
import { ApprovalId, ApprovalRefusedError, SessionId } from "#kernel";
import type { RunHandle } from "#runtime";
import { type ChatTurn, chatBody, readTurn } from "../chat/chat-request.ts";
import { uiStream, type UiStreamOptions } from "../chat/ui-stream.ts";
import { frame } from "../event-stream.ts";
import { checkScope } from "../gate.ts";
import { type Call, type Route, route, subscribe, whose } from "../route.ts";
import { type Decoded, shape } from "../shape.ts";
import { agentOf } from "./agents.ts";

type ChatCall = Call<unknown, Decoded<typeof chatBody>>;

const chatId = shape.id(SessionId.of, "a chat");

export const chatRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/chat/:agent",
    scope: "run",
    summary:
      "The newest message of an AI SDK chat: a tree in the session of that name, as a UI message stream",
    answers: "text/event-stream",
    body: chatBody,
    handle: async (call) => {
      const turn = readTurn(call.body.messages);
      if (turn.kind === "say") return stream(call, await say(call, turn));
      return stream(call, await answerTo(call, turn), { shown: turn.shown });
    },
  }),
  route({
    method: "get",
    path: "/chat/:agent/:chat/stream",
    scope: "read",
    summary: "The answer that is being given in a chat, from its beginning; 204 if there is none",
    answers: "text/event-stream",
    handle: async (call) => {
      const { host, principal, params } = call;
      agentOf(host, params["agent"] ?? "");
      const tree = await host.runtime.turn(chatId.decode(params["chat"], "chat"), whose(principal));
      if (tree === null) return new Response(null, { status: 204 });
      return stream(call, host.runtime.run(tree, whose(principal)));
    },
  }),
];

/** One message is one tree: sent again because its answer was lost, it is not a second one. */
async function say(
  { host, principal, params, body }: ChatCall,
  { message, text }: Extract<ChatTurn, { readonly kind: "say" }>,
): Promise<RunHandle> {
  const agent = agentOf(host, params["agent"] ?? "");
  const name = body.trigger === "regenerate-message" ? randomUUID() : message;
  const id = `chat-${hash("sha256", JSON.stringify([agent.id, body.id, name])).slice(0, 40)}`;
  const done = host.starts.take(principal.id);
  try {
    return await host.runtime.start(agent, text, {
      id,
      session: body.id,
      channel: "chat",
      ...whose(principal),
    });
  } finally {
    done();
  }
}

/** Whoever answers must be somebody who may. What was answered before stays as it is. */
async function answerTo(
  { host, principal }: Call,
  { answers, shown }: Extract<ChatTurn, { readonly kind: "answer" }>,
): Promise<RunHandle> {
  checkScope(principal, "approve");
  const [first = shown[0]] = shown;
  const run = host.runtime.run(ApprovalId.tree(ApprovalId.parse(first ?? "")), whose(principal));
  await run.status();
  for (const { approval, isApproved, reason } of answers) {
    const said = { by: principal.id, ...(reason !== undefined && { reason }) };
    const decided = isApproved ? run.approve(approval, said) : run.deny(approval, said);
    await decided.catch((error: unknown) => {
      if (!(error instanceof ApprovalRefusedError && error.reason === "decided")) throw error;
    });
  }
  return run;
}

function stream(call: Call, run: RunHandle, options: Omit<UiStreamOptions, "signal"> = {}): Response {
  const headers = { "x-vercel-ai-ui-message-stream": "v1" };
  return subscribe(call, (signal) => frames(run, { ...options, signal }), headers);
}

async function* frames(run: RunHandle, options: UiStreamOptions): AsyncGenerator<string, void> {
  for await (const chunk of uiStream(run, options)) yield frame(JSON.stringify(chunk));
  yield frame("[DONE]");
}
