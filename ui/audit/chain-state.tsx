import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { type Progress, useChainState, verifyChain } from "../api/record-queries.ts";
import type { AuditHead, AuditReport } from "../api/records.ts";
import { Ago } from "../parts/ago.tsx";
import { count, countText } from "../parts/amounts.ts";
import { announceNow } from "../parts/announcer.tsx";
import { Button } from "../parts/button.tsx";
import { notify } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { faultTexts } from "./link-text.ts";

/** Parses a head as the page shows it, such as `5119:hash`. Null if it is invalid. */
function parseHead(text: string): AuditHead | null {
  const [, index = "", hash = ""] = /^\s*(\d{1,15}):([\w-]{1,256})\s*$/.exec(text) ?? [];
  return hash === "" ? null : { index: Number(index), hash };
}

/** Checks the chain on request. Null: it is not being checked. */
function useVerify(): {
  readonly progress: Progress | null;
  readonly verify: (head: AuditHead | null) => void;
} {
  const queries = useQueryClient();
  const [progress, setProgress] = useState<Progress | null>(null);
  const verify = (head: AuditHead | null): void => {
    if (progress) return;
    setProgress({ checked: 0, length: 0 });
    announceNow("Checking the chain");
    verifyChain(head, setProgress)
      .then(
        () => announceNow("The chain was checked"),
        (error: unknown) => notify(`Not checked: ${error instanceof Error ? error.message : String(error)}`),
      )
      .finally(() => {
        setProgress(null);
        void queries.invalidateQueries({ queryKey: ["audit"] });
      });
  };
  return { progress, verify };
}

/** Shows whether the last verification found the chain intact, and its head to store elsewhere. */
export function ChainState(): ReactNode {
  const { data } = useChainState();
  const { progress, verify } = useVerify();
  const [problem, setProblem] = useState<string | null>(null);
  useKeys({ v: () => verify(null) });
  const compare = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get("head");
    const head = parseHead(typeof text === "string" ? text : "");
    setProblem(head ? null : "A head is a number, a colon and a hash, as copied from this page.");
    if (head) verify(head);
  };
  const head = data?.head ?? null;
  return (
    <section className="chain" aria-label="The chain">
      <div className="chain-line">
        {progress ? (
          <ProgressLine progress={progress} />
        ) : (
          <ReportLine report={data?.report ?? null} head={head} />
        )}
        <Button label="Check now" hint="V" onPress={() => verify(null)} />
      </div>
      {head && <HeadLine head={head} />}
      <details className="chain-compare">
        <summary>Compare with a saved head</summary>
        <form onSubmit={compare}>
          <label>
            Head
            <input name="head" className="mono" placeholder="5119:…" autoComplete="off" />
          </label>
          <button type="submit" className="btn">
            Check against it
          </button>
          {problem !== null && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
        </form>
      </details>
    </section>
  );
}

function ProgressLine({ progress: { checked, length } }: { readonly progress: Progress }): ReactNode {
  return (
    <div className="chain-word">
      <progress max={Math.max(1, length)} value={checked} aria-label="Links checked" />
      checked {count(checked)} of {countText(length, "link")}
    </div>
  );
}

function ReportLine({
  report,
  head,
}: {
  readonly report: AuditReport | null;
  readonly head: AuditHead | null;
}): ReactNode {
  if (!head) return <div className="chain-word">No decisions yet: the chain has no link.</div>;
  if (!report)
    return <div className="chain-word">Not checked yet. The check reads the whole chain with its key.</div>;
  const { verdict, at, hadHead } = report;
  if (!verdict.ok)
    return (
      <div className="chain-word bad">
        <span className="st bad">✗ Broken at link {count(verdict.at)}</span>
        <span>
          {verdict.fault}: {faultTexts[verdict.fault] ?? "see the guide"}. Checked{" "}
          <Ago at={at} suffix=" ago" />
          {hadHead ? ", against a saved head" : ""}.
        </span>
      </div>
    );
  const since = head.index + 1 - verdict.length;
  return (
    <div className="chain-word">
      <span className="st ok">
        ✓ {verdict.length === 0 ? "Intact" : `Intact up to link ${count(verdict.length - 1)}`}
      </span>
      <span>
        checked <Ago at={at} suffix=" ago" />
        {hadHead ? ", against a saved head" : ""}
        {since > 0 ? `, ${countText(since, "link")} since` : ""}
      </span>
    </div>
  );
}

function HeadLine({ head: { index, hash } }: { readonly head: AuditHead }): ReactNode {
  const text = `${index}:${hash}`;
  const copy = (): void =>
    void navigator.clipboard.writeText(text).then(
      () => notify("Copied the head. Save it outside the database."),
      () => notify(`The browser does not allow copying. ${text}`),
    );
  return (
    <div className="chain-head">
      <span className="muted">Head</span>
      <code>{text}</code>
      <Button label="Copy" icon="copy" size="small" onPress={copy} />
      <span className="sub">
        Save this outside the database: only a saved head shows that links were removed from the end.
      </span>
    </div>
  );
}
