import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { errorText, segment } from "../api/http.ts";
import { useSessions } from "../api/record-queries.ts";
import type { SessionRecord } from "../api/records.ts";
import { Ago } from "../parts/ago.tsx";
import { count, dayTime } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { useListKeys } from "../parts/use-list-keys.ts";
import { useTitle } from "../parts/use-title.ts";

const keys = [
  ["J K", "move"],
  ["↵", "open"],
  ["?", "all keys"],
] as const;

/** Conversations, newest first. */
export function SessionsScreen(): ReactNode {
  useTitle("Sessions");
  const [params, setParams] = useSearchParams();
  const unnamed = params.get("unnamed") === "true";
  const { data, error, refetch, hasNextPage, fetchNextPage } = useSessions(unnamed);
  const list = useListKeys();
  const sessions = data?.pages.flatMap(({ items }) => items) ?? null;
  return (
    <>
      <h1 className="for-readers">Sessions</h1>
      <div className="tools">
        <label className="check">
          <input
            type="checkbox"
            checked={unnamed}
            onChange={({ target }) => setParams(target.checked ? { unnamed: "true" } : {})}
          />
          Include unnamed sessions
        </label>
      </div>
      <div className="wrap" ref={list}>
        {!sessions && error && (
          <Failure
            title="The sessions cannot be read"
            detail={errorText(error)}
            onRetry={() => void refetch()}
          />
        )}
        {!sessions && !error && <Skeleton label="Sessions" />}
        {sessions?.length === 0 && (
          <Empty title="No conversation yet" command="reeve chat <agent>">
            <p>A run that is started in a session appears here with its turn.</p>
          </Empty>
        )}
        {sessions && sessions.length > 0 && <SessionTable sessions={sessions} />}
        {hasNextPage && (
          <div className="older">
            <Button label="Older sessions" onPress={() => void fetchNextPage()} />
          </div>
        )}
      </div>
      <KeyBar keys={keys} right={sessions ? `${count(sessions.length)} shown · newest first` : ""} />
    </>
  );
}

/** The address of a conversation: users may give theirs the same id. */
const addressOf = ({ id, userId }: SessionRecord): string =>
  `/sessions/${segment(id)}${userId === null ? "" : `?user=${segment(userId)}`}`;

function SessionTable({ sessions }: { readonly sessions: readonly SessionRecord[] }): ReactNode {
  return (
    <table className="runs records">
      <thead>
        <tr>
          <th>Session</th>
          <th className="c-agent">Agent</th>
          <th className="c-user">User</th>
          <th className="c-channel">Channel</th>
          <th className="c-started">Begun</th>
          <th className="c-age r">Last entry</th>
        </tr>
      </thead>
      <tbody>
        {sessions.map((session) => (
          <tr key={`${session.userId ?? ""} ${session.id}`}>
            <td>
              <div className="t">
                <Link href={addressOf(session)} className="el" data-item="">
                  <InertText text={session.title ?? session.id} />
                </Link>
                {session.title !== null && (
                  <span className="mono muted">
                    <InertText text={session.id} />
                  </span>
                )}
                {session.forkedFrom && <span className="pill">fork</span>}
              </div>
            </td>
            <td className="sub el">
              <InertText text={session.agentId ?? "–"} />
            </td>
            <td className="sub el">
              <InertText text={session.userId ?? "–"} />
            </td>
            <td className="sub el">
              <InertText text={session.channel ?? "–"} />
            </td>
            <td className="sub nw">{dayTime(session.startedAt)}</td>
            <td className="r muted nw">
              <Ago at={session.updatedAt} suffix=" ago" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
