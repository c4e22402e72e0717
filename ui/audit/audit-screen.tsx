import type { ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { errorText, segment } from "../api/http.ts";
import { useAuditLink, useAuditLinks } from "../api/record-queries.ts";
import type { AuditLink } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { clockTime, count, dayTime } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Locked } from "../parts/locked.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useListKeys } from "../parts/use-list-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { ChainState } from "./chain-state.tsx";
import { fieldText, linkKinds, linkText, treeOf } from "./link-text.ts";

const keys = [
  ["J K", "move"],
  ["↵", "open"],
  ["V", "check the chain"],
  ["M", "older"],
  ["?", "all keys"],
] as const;

/** The chain of decisions, newest first, and whether it is whole. */
export function AuditScreen({ link }: { readonly link: number | null }): ReactNode {
  useTitle("Audit");
  const lock = useLock("admin");
  if (lock !== null) return <Locked what="The audit" scope="admin" command="reeve audit verify" />;
  return <AuditBody index={link !== null && Number.isSafeInteger(link) && link >= 0 ? link : null} />;
}

function AuditBody({ index }: { readonly index: number | null }): ReactNode {
  const [params, setParams] = useSearchParams();
  const [kind, tree, run] = ["kind", "tree", "run"].map((name) => params.get(name) ?? "");
  const query = { kind: kind ?? "", tree: tree ?? "", run: run ?? "" };
  const { data, error, refetch, hasNextPage, fetchNextPage } = useAuditLinks(query);
  const list = useListKeys();
  useKeys({ m: () => void (hasNextPage && fetchNextPage()) });
  const links = data?.pages.flatMap(({ items }) => items) ?? null;
  const change = (name: string, value: string): void =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  const suffix = params.size === 0 ? "" : `?${params.toString()}`;
  return (
    <>
      <h1 className="for-readers">Audit</h1>
      <ChainState />
      <KindFilter kind={query.kind} onChange={(each) => change("kind", each)} />
      <PlaceFilter tree={query.tree} run={query.run} onClear={(name) => change(name, "")} />
      <div className={index === null ? "records-body" : "records-body with-side"}>
        <div className="wrap" ref={list}>
          {!links && error && (
            <Failure
              title="The audit cannot be read"
              detail={errorText(error)}
              onRetry={() => void refetch()}
            />
          )}
          {!links && !error && <Skeleton label="Audit" />}
          {links?.length === 0 && <NoLinks isFiltered={suffix !== ""} />}
          {links && links.length > 0 && <LinkTable links={links} selected={index} suffix={suffix} />}
          {hasNextPage && (
            <div className="older">
              <Button label="Older links" hint="M" onPress={() => void fetchNextPage()} />
            </div>
          )}
        </div>
        {index !== null && <LinkPanel index={index} suffix={suffix} />}
      </div>
      <KeyBar keys={keys} right={links ? `${count(links.length)} shown · newest first` : ""} />
    </>
  );
}

function NoLinks({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (!isFiltered)
    return (
      <Empty title="No decisions yet" command='reeve run <agent> "…"'>
        <p>Every decision about a tree is a link here: permissions, spending and approvals.</p>
      </Empty>
    );
  return (
    <Empty title="No link matches the filter">
      <p>
        <Link className="link" href="/audit">
          Clear the filter
        </Link>
      </p>
    </Empty>
  );
}

function KindFilter({
  kind,
  onChange,
}: {
  readonly kind: string;
  readonly onChange: (kind: string) => void;
}): ReactNode {
  return (
    <div className="tools kinds" role="group" aria-label="Kind">
      {["", ...linkKinds].map((each) => (
        <button
          key={each}
          type="button"
          className="chip"
          aria-pressed={kind === each}
          onClick={() => onChange(each)}
        >
          {each === "" ? "all" : each}
        </button>
      ))}
    </div>
  );
}

function PlaceFilter({
  tree,
  run,
  onClear,
}: {
  readonly tree: string;
  readonly run: string;
  readonly onClear: (name: string) => void;
}): ReactNode {
  const set = [["tree", tree] as const, ["run", run] as const].filter(([, value]) => value !== "");
  if (set.length === 0) return null;
  return (
    <div className="tools">
      {set.map(([name, value]) => (
        <span className="pill" key={name}>
          {name} <InertText text={value} />
          <button type="button" className="x" aria-label={`Clear ${name}`} onClick={() => onClear(name)}>
            ×
          </button>
        </span>
      ))}
    </div>
  );
}

function LinkTable({
  links,
  selected,
  suffix,
}: {
  readonly links: readonly AuditLink[];
  readonly selected: number | null;
  readonly suffix: string;
}): ReactNode {
  return (
    <table className="runs records">
      <thead>
        <tr>
          <th className="c-link">Link</th>
          <th className="c-time">Time</th>
          <th className="c-kind">Kind</th>
          <th>Decision</th>
          <th className="c-by">By</th>
          <th className="c-place">Agent, tree</th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <LinkRow key={link.index} link={link} isOpen={link.index === selected} suffix={suffix} />
        ))}
      </tbody>
    </table>
  );
}

function LinkRow({
  link,
  isOpen,
  suffix,
}: {
  readonly link: AuditLink;
  readonly isOpen: boolean;
  readonly suffix: string;
}): ReactNode {
  const tree = treeOf(link);
  return (
    <tr className={isOpen ? "sel" : ""}>
      <td>
        <Link
          className="mono link"
          data-item=""
          href={`/audit/${link.index}${suffix}`}
          aria-current={isOpen ? "true" : undefined}
        >
          {count(link.index)}
        </Link>
      </td>
      <td className="sub nw">
        <time dateTime={new Date(link.at).toISOString()} title={new Date(link.at).toISOString()}>
          {dayTime(link.at)}
        </time>
      </td>
      <td className="sub">{link.kind}</td>
      <td className="el">
        <InertText text={linkText(link)} />
      </td>
      <td className="sub el">
        <InertText text={fieldText(link, "by")} />
      </td>
      <td className="sub el">
        <InertText text={fieldText(link, "agent")} />{" "}
        {tree !== null && (
          <Link className="link" href={`/runs/${segment(tree)}`}>
            <InertText text={tree} />
          </Link>
        )}
      </td>
    </tr>
  );
}

function LinkPanel({ index, suffix }: { readonly index: number; readonly suffix: string }): ReactNode {
  const { data: link, error } = useAuditLink(index);
  const [, go] = useLocation();
  useKeys({ Backspace: () => go(`/audit${suffix}`) });
  return (
    <aside className="side link-panel" aria-label={`Link ${index}`}>
      <div className="line">
        <h2>Link {count(index)}</h2>
        <span className="spring" />
        <Button label="Close" hint="⌫" size="small" onPress={() => go(`/audit${suffix}`)} />
      </div>
      {error && <p className="problem">{errorText(error)}</p>}
      {link === null && <p className="sub">The chain has no such link.</p>}
      {link && (
        <dl className="kv">
          <Field
            name="time"
            text={`${dayTime(link.at)} ${clockTime(link.at)}, ${new Date(link.at).toISOString()}`}
          />
          <Field name="kind" text={link.kind} />
          <Field name="data" text={JSON.stringify(link.data, null, 2)} />
          <Field name="source" text={link.source} />
          <Field name="key" text={link.keyId} />
          <Field name="previous" text={link.previous} />
          <Field name="hash" text={link.hash} />
        </dl>
      )}
    </aside>
  );
}

function Field({ name, text }: { readonly name: string; readonly text: string }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <InertText text={text} />
      </dd>
    </>
  );
}
