import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  getToolName,
  isTextUIPart,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { useEffect, useState } from "react";

interface ChatProps {
  /** The agent's chat route. */
  readonly api: string;
  /** Names the chat: the same id finds its messages again. */
  readonly id: string;
}

/** fetch reports a lost connection with this error. The run continues and can be resumed. */
const isCutOff = (error: Error | undefined): boolean => error instanceof TypeError;

/** A chat with its history. */
export function Chat({ api, id }: ChatProps) {
  const [said, setSaid] = useState<UIMessage[] | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    const load = async (): Promise<void> => {
      const response = await fetch(`${api}/${id}/messages`, { signal: gone.signal });
      setSaid((await response.json()).items);
    };
    const attempt = (): void => void load().catch(() => !gone.signal.aborted && setTimeout(attempt, 500));
    attempt();
    return () => gone.abort();
  }, [api, id]);
  return said ? <Conversation api={api} id={id} said={said} /> : <output>loading</output>;
}

function Conversation({ api, id, said }: ChatProps & { readonly said: UIMessage[] }) {
  const [text, setText] = useState("");
  /** The message that is changed; null: a new one is written. */
  const [edited, setEdited] = useState<string | null>(null);
  const { messages, status, error, sendMessage, regenerate, resumeStream, addToolApprovalResponse } = useChat(
    {
      id,
      messages: said,
      transport: new DefaultChatTransport({ api }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      resume: true,
    },
  );

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
        <Message
          key={message.id}
          message={message}
          onAnswer={(approval, approved) => void addToolApprovalResponse({ id: approval, approved })}
          onEdit={() => setEdited(message.id)}
        />
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setText("");
          setEdited(null);
          void sendMessage(edited === null ? { text } : { text, messageId: edited });
        }}
      >
        <input aria-label="Question" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isAnswering || isAsking}>Send</button>
        <button
          type="button"
          aria-label="Answer again"
          disabled={isAnswering || isAsking || messages.length === 0}
          onClick={() => void regenerate()}
        >
          ↻
        </button>
        <output>{isCutOff(error) ? "reconnecting" : (error?.message ?? status)}</output>
      </form>
    </>
  );
}

interface MessageProps {
  readonly message: UIMessage;
  readonly onAnswer: (approval: string, approved: boolean) => void;
  readonly onEdit: () => void;
}

function Message({ message, onAnswer, onEdit }: MessageProps) {
  return (
    <article aria-label={message.role}>
      {message.parts.map((part, n) => {
        if (isTextUIPart(part)) return <p key={n}>{part.text}</p>;
        if (!isToolUIPart(part)) return null;
        const answer = (approved: boolean) => onAnswer(part.approval?.id ?? "", approved);
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
      {message.role === "user" && (
        <button aria-label="Edit" onClick={onEdit}>
          ✎
        </button>
      )}
    </article>
  );
}
