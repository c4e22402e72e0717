import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  getToolName,
  isTextUIPart,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from "ai";
import { useEffect, useState } from "react";

/** So fetch tells that the connection is gone. The run is not: it can be asked for again. */
const isCutOff = (error: Error | undefined): boolean => error instanceof TypeError;

/** `api` is the agent's chat route, `id` names the conversation: the same one finds it again. */
export function Chat({ api, id }: { readonly api: string; readonly id: string }) {
  const [kept] = useState(() => JSON.parse(sessionStorage.getItem(id) ?? "[]"));
  const [text, setText] = useState("");
  const { messages, status, error, sendMessage, resumeStream, addToolApprovalResponse } = useChat({
    id,
    messages: kept,
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    resume: true,
  });
  useEffect(() => sessionStorage.setItem(id, JSON.stringify(messages)), [id, messages]);

  useEffect(() => {
    if (!isCutOff(error)) return;
    const last = messages.at(-1);
    const again = () =>
      last?.role === "user" ? sendMessage({ parts: last.parts, messageId: last.id }) : resumeStream();
    const timer = setTimeout(() => void again(), 500);
    return () => clearTimeout(timer);
  }, [error, messages, sendMessage, resumeStream]);

  // A second message while the first is answered would be refused.
  const isAnswering = status === "submitted" || status === "streaming" || isCutOff(error);
  const isAsking = messages
    .at(-1)
    ?.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");

  return (
    <>
      {messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          {message.parts.map((part, n) => {
            if (isTextUIPart(part)) return <p key={n}>{part.text}</p>;
            if (!isToolUIPart(part)) return null;
            const answer = (approved: boolean) =>
              void addToolApprovalResponse({ id: part.approval?.id ?? "", approved });
            return (
              <section key={n} aria-label={getToolName(part)}>
                <pre>{`${getToolName(part)} ${JSON.stringify(part.input)}: ${part.state}`}</pre>
                {part.state === "approval-requested" && (
                  <>
                    <button onClick={() => answer(true)}>Approve</button>{" "}
                    <button onClick={() => answer(false)}>Deny</button>
                  </>
                )}
              </section>
            );
          })}
        </article>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setText("");
          void sendMessage({ text });
        }}
      >
        <input aria-label="Question" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isAnswering || isAsking}>Send</button>
        <output>{isCutOff(error) ? "reconnecting" : (error?.message ?? status)}</output>
      </form>
    </>
  );
}
