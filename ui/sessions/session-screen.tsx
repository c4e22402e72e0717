import type { ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { ApiError, errorText, post, segment } from "../api/http.ts";
import { type SessionEntries, useEntries } from "../api/record-queries.ts";
import { useLock, useMe } from "../api/session.tsx";
import { Ago } from "../parts/ago.tsx";
import { dayTime } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { notify } from "../parts/toast.tsx";
import { useListKeys } from "../parts/use-list-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { type Branch, toEntryTree } from "./entry-tree.ts";
import { entriesText, EntryView } from "./entry-view.tsx";

const keys = [
  ["J K", "entry"],
  ["⌫", "all sessions"],
  ["?", "all keys"],
] as const;

/** One conversation: its main path in the middle, branches beside it. */
export function SessionScreen({ id }: { readonly id: string }): ReactNode {
  useTitle(id);
  const [params] = useSearchParams();
  const { data, error, refetch } = useEntries(id, params.get("user"));
  if (data) return <SessionBody session={data} />;
  if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return <NothingHere />;
  if (error)
    return (
      <Failure title="The session cannot be read" detail={errorText(error)} onRetry={() => void refetch()} />
    );
  return <Skeleton label="Session" />;
}

function SessionBody({ session }: { readonly session: SessionEntries }): ReactNode {
  const [, go] = useLocation();
  const list = useListKeys(() => go("/sessions"));
  const tree = toEntryTree(session.items, session.leaf);
  const fork = useFork(session);
  return (
    <>
      <div className="record-page wide" ref={list}>
        <SessionHead session={session} />
        {session.items.length === 0 && <p className="sub">No messages yet.</p>}
        <ol className="entries" aria-label="Entries">
          {tree.loose.length > 0 && (
            <li className="entry-row">
              <div />
              <Branches branches={tree.loose} />
            </li>
          )}
          {tree.rows.map(({ entry, branches, isReplaced }) => (
            <li className="entry-row" key={entry.id} data-item="" tabIndex={-1}>
              <EntryView entry={entry} replaced={tree.replaced.get(entry.id) ?? 0} isReplaced={isReplaced}>
                <Button
                  label="Fork here"
                  size="small"
                  locked={fork.lock}
                  onPress={() => fork.forkAt(entry.id)}
                />
              </EntryView>
              <Branches branches={branches} />
            </li>
          ))}
        </ol>
      </div>
      <KeyBar keys={keys} right={entriesText(session.items.length)} />
    </>
  );
}

/** Starts a new conversation with everything up to an entry. */
function useFork({ id, userId }: SessionEntries): {
  readonly lock: string | null;
  readonly forkAt: (entry: string) => void;
} {
  const [, go] = useLocation();
  const scopeLock = useLock("run");
  const { user = null } = useMe();
  const isForeign = userId !== user;
  const forkAt = (entry: string): void =>
    void post<{ readonly id: string }>(`/sessions/${segment(id)}/fork`, { entry }).then(
      ({ id: forked }) => {
        notify("Forked: a new conversation with everything up to here");
        go(`/sessions/${segment(forked)}${userId === null ? "" : `?user=${segment(userId)}`}`);
      },
      (error: unknown) => notify(errorText(error)),
    );
  return {
    lock: scopeLock ?? (isForeign ? "Requires a key of the conversation's user" : null),
    forkAt,
  };
}

function SessionHead({ session }: { readonly session: SessionEntries }): ReactNode {
  const { id, title, agentId, userId, startedAt, updatedAt, forkedFrom, hasContent } = session;
  return (
    <header className="record-head">
      <div>
        <h1>
          <InertText text={title ?? id} />
        </h1>
        <p className="sub">
          {agentId !== null && (
            <>
              with{" "}
              <Link className="link" href={`/agents/${segment(agentId.split(":", 1)[0] ?? agentId)}`}>
                <InertText text={agentId} />
              </Link>
              {", "}
            </>
          )}
          {userId !== null && (
            <>
              of <InertText text={userId} />,{" "}
            </>
          )}
          begun {dayTime(startedAt)}, last entry <Ago at={updatedAt} suffix=" ago" />
          {forkedFrom && (
            <>
              , forked from{" "}
              <Link className="link" href={`/sessions/${segment(forkedFrom.session)}`}>
                <InertText text={forkedFrom.session} />
              </Link>
            </>
          )}
        </p>
        {!hasContent && (
          <p className="locked-line">
            Messages are content: your key lacks the scope content. Only the structure is shown.
          </p>
        )}
      </div>
    </header>
  );
}

function Branches({ branches }: { readonly branches: readonly Branch[] }): ReactNode {
  if (branches.length === 0) return <div />;
  return (
    <div className="branches">
      {branches.map(({ entries, branches: further }) => (
        <details key={entries[0]?.id} className="branch">
          <summary>
            branch: {entriesText(entries.length)}
            {entries[0]?.branch != null && (
              <>
                {" "}
                of <InertText text={entries[0].branch} />
              </>
            )}
          </summary>
          {entries.map((entry) => (
            <EntryView key={entry.id} entry={entry} />
          ))}
          <Branches branches={further} />
        </details>
      ))}
    </div>
  );
}
