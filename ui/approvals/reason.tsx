import type { ReactNode } from "react";
import { Link } from "wouter";
import { segment } from "../api/http.ts";
import type { ApprovalRecord } from "../api/records.ts";
import { countText } from "../parts/amounts.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { InertText } from "../parts/inert-text.tsx";

type Source = NonNullable<ApprovalRecord["sources"]>[number];

/** Why the question is asked; for the rule of two, its three legs with who brought them. */
export function Reason({ record }: { readonly record: ApprovalRecord }): ReactNode {
  return (
    <>
      <div className="reason">
        <b>
          <InertText text={record.why} />
        </b>
        {record.ruleOfTwo && <div className="sub">A remembered approval does not cover this call.</div>}
      </div>
      {record.ruleOfTwo && <Legs record={record} />}
    </>
  );
}

function Legs({ record }: { readonly record: ApprovalRecord }): ReactNode {
  const { sources = [], tool } = record;
  return (
    <div className="legs">
      <Leg icon="warning" title="Untrusted" sources={sources.filter(({ untrusted }) => untrusted)} />
      <Leg icon="lock" title="Private" sources={sources.filter((source) => source.private)} />
      <section aria-label="Leaves">
        <h3>
          <Icon name="send" /> Leaves
        </h3>
        <p>
          by <span className="mono">{<InertText text={tool} />}</span>
        </p>
      </section>
    </div>
  );
}

function Leg({
  icon,
  title,
  sources,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly sources: readonly Source[];
}): ReactNode {
  return (
    <section aria-label={title}>
      <h3>
        <Icon name={icon} /> {title}
        {sources.length > 0 && `, ${countText(sources.length, "source")}`}
      </h3>
      {sources.length === 0 ? (
        <p className="muted">Unknown source.</p>
      ) : (
        <ul>
          {sources.map((source) => (
            <li key={`${source.kind} ${source.name} ${source.runId ?? ""}`}>
              <SourceText source={source} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function SourceText({ source: { kind, name, runId, stepId } }: { readonly source: Source }): ReactNode {
  const cut = runId?.lastIndexOf("~") ?? -1;
  return (
    <>
      {kind} <b className="mono">{<InertText text={name} />}</b>
      {runId !== null && (
        <>
          {" by "}
          <Link
            className="link mono"
            href={`/runs/${segment(runId.slice(0, cut))}?at=${runId.slice(cut)}`}
            title={stepId ?? undefined}
          >
            <InertText text={runId.slice(cut)} />
          </Link>
        </>
      )}
    </>
  );
}
