import { type ReactNode, useState } from "react";
import { costOf, type StepFigures } from "#view";
import type { PartRecord, StepRecord } from "../api/steps.ts";
import { count, dollars } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { type ShownStatus, StatusMark } from "../parts/status-mark.tsx";
import { blocksOf, ContentBlocks } from "./content-blocks.tsx";
import { LabelPills, PartContent } from "./prompt-part.tsx";
import { seconds } from "./step-state.tsx";

interface SideProps {
  readonly step: StepFigures;
  /** Null if nothing was recorded, or it is not read yet. */
  readonly record: StepRecord | null;
}

/** The answer of a step, its bill, and the decisions about it. */
export function StepSide({ step, record }: SideProps): ReactNode {
  const isModel = step.kind === "model";
  return (
    <aside className="side" aria-label="Answer, bill and decisions">
      {isModel && record && <Answer step={step} parts={record.answer} />}
      {(isModel || costOf(step).settledMicros > 0) && <BillSection step={step} record={record} />}
      {(step.attempts.length > 1 || step.attempts.some(({ error }) => error)) && <Attempts step={step} />}
      <Decisions step={step} record={record} />
      {/* The card of a fork has its place here. */}
    </aside>
  );
}

function Answer({
  step,
  parts,
}: {
  readonly step: StepFigures;
  readonly parts: readonly PartRecord[];
}): ReactNode {
  const [isMarkdown, setMarkdown] = useState(false);
  const output = step.attempts.findLast(({ usage }) => usage !== null)?.usage?.output;
  const [part] = parts;
  const isThere = part?.content !== undefined && part.content !== null;
  return (
    <section className="sec" aria-label="Answer">
      <h2>
        <span>Answer</span>
        <span className="line">
          {isThere && (
            <button
              type="button"
              className="btn sm"
              aria-pressed={isMarkdown}
              onClick={() => setMarkdown(!isMarkdown)}
            >
              Markdown
            </button>
          )}
          {output !== undefined && <span className="muted">{count(output)} tokens</span>}
        </span>
      </h2>
      <div className="answer-text">
        {!part && <p className="absent">No answer.</p>}
        {part && isThere && <ContentBlocks blocks={blocksOf(part.content)} markdown={isMarkdown} />}
        {part && !isThere && <PartContent part={part} />}
        {part && <LabelPills labels={part.labels} />}
      </div>
    </section>
  );
}

function BillSection({ step, record }: SideProps): ReactNode {
  const { settledMicros, reservedMicros } = costOf(step);
  const ceiling = step.attempts.reduce((sum, attempt) => sum + attempt.reservedMicros, 0);
  const isInDoubt = step.attempts.some((attempt) => attempt.isInDoubt);
  const bill = record?.bill ?? null;
  const isOver = reservedMicros === 0;
  const difference = bill && isOver ? settledMicros - bill.costMicros : 0;
  return (
    <section className="sec" aria-label="Bill">
      <h2>
        <span>Bill</span>
        <span className="muted">
          reserved {dollars(ceiling)}
          {isOver && `, settled ${dollars(settledMicros)}`}
        </span>
      </h2>
      <table className="bill">
        <thead>
          <tr>
            <th scope="col">line</th>
            <th scope="col">tokens</th>
            <th scope="col">a million</th>
            <th scope="col">cost</th>
          </tr>
        </thead>
        <tbody>
          {bill?.lines.map(({ name, amount, rateMicros, costMicros }) => (
            <tr key={`${name} ${rateMicros}`}>
              <th scope="row">{name}</th>
              <td>{count(amount)}</td>
              <td>{name === "request" ? "" : `$${(rateMicros / 1_000_000).toFixed(2)}`}</td>
              <td>{dollars(costMicros)}</td>
            </tr>
          ))}
          {!bill && <UsageRows step={step} />}
          {difference !== 0 && (
            <tr>
              <th scope="row">{isInDoubt ? "in doubt, at its ceiling" : "at the price of the tree"}</th>
              <td />
              <td />
              <td>{dollars(difference)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{isOver ? "total" : "at most"}</th>
            <td>{bill ? count(bill.tokens) : ""}</td>
            <td />
            <td>{dollars(settledMicros + reservedMicros)}</td>
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

/** Shows tokens without prices, if the manifest is missing. */
function UsageRows({ step }: { readonly step: StepFigures }): ReactNode {
  const usages = step.attempts.flatMap(({ usage }) => usage ?? []);
  const sum = (of: (usage: (typeof usages)[number]) => number): number =>
    usages.reduce((all, usage) => all + of(usage), 0);
  const rows = [
    ["input", sum(({ input }) => input)],
    ["of it cached", sum(({ cachedInput = 0 }) => cachedInput)],
    ["output", sum(({ output }) => output)],
  ] as const;
  return rows.map(([name, tokens]) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      <td>{count(tokens)}</td>
      <td />
      <td />
    </tr>
  ));
}

function Attempts({ step }: { readonly step: StepFigures }): ReactNode {
  return (
    <section className="sec" aria-label="Attempts">
      <h2>
        <span>Attempts</span>
        <span className="muted">{step.attempts.length}</span>
      </h2>
      {step.attempts.map(({ attempt, at, ms, error, settledMicros, isInDoubt }, index) => (
        <div className="ruling" key={`${attempt} ${at}`}>
          <StatusMark status={error ? "failed" : ms === null ? "running" : "completed"} markOnly />
          <span>
            {index + 1}
            {error && <span className="pill bad">{error.code}</span>}
            {isInDoubt && <span className="pill hold">in doubt</span>}
          </span>
          <small className="muted">
            {ms !== null && seconds(ms)} {settledMicros !== null && dollars(settledMicros)}
          </small>
        </div>
      ))}
    </section>
  );
}

type Ruling = Omit<StepFigures["decisions"][number], "seq" | "at">;

/** Middleware decides before the gate; the manifest shows what the gate reduced. */
function rulingsOf({ decisions }: StepFigures, record: StepRecord | null): readonly Ruling[] {
  const noted = record?.manifest?.decisions ?? [];
  return [
    ...noted.filter(({ layer }) => layer !== "gate"),
    ...decisions,
    ...noted.filter(({ layer }) => layer === "gate"),
  ];
}

function markOf({ decision }: Ruling): ShownStatus {
  if (/^(block|halt|denied|expired)/.test(decision)) return "failed";
  return /^(warn|edited|in doubt|less output)/.test(decision) ? "landed" : "completed";
}

function Decisions({ step, record }: SideProps): ReactNode {
  const rulings = rulingsOf(step, record);
  return (
    <section className="sec" aria-label="Decisions">
      <h2>
        <span>Decisions</span>
        <span className="muted">{rulings.length}</span>
      </h2>
      {rulings.map((ruling, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the same decision may be made twice
        <div className="ruling" key={index}>
          <StatusMark status={markOf(ruling)} markOnly />
          <span>
            <InertText text={ruling.by} />: <InertText text={ruling.decision} />
            {ruling.reason !== undefined && (
              <small className="muted">
                <InertText text={ruling.reason} />
              </small>
            )}
          </span>
          <small className="muted">{ruling.layer}</small>
        </div>
      ))}
    </section>
  );
}
