import { type ReactNode, useMemo } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { costOf, type StepFigures, type TreeView } from "#view";
import { errorText } from "../../api/http.ts";
import { useSteps } from "../../api/steps.ts";
import { clockTime, count, countText, dollars } from "../../parts/amounts.ts";
import { InertText } from "../../parts/inert-text.tsx";
import { KeyBar } from "../../parts/key-bar.tsx";
import { Failure, Skeleton } from "../../parts/states.tsx";
import { durationOf, seconds, StepMark } from "../../step/step-state.tsx";
import { runNumber, stepName, stepPath } from "../../step/step-names.ts";
import { useRowList } from "./row-list.ts";

const kinds = [
  ["all", "All"],
  ["model", "Models"],
  ["tool", "Tools"],
] as const;
const orders = [
  ["time", "In order"],
  ["cost", "Most costly first"],
] as const;

const total = (step: StepFigures): number => costOf(step).settledMicros + costOf(step).reservedMicros;

/** All steps of a tree, by kind, in order or by cost. Filter and order are part of the address. */
export function StepsTab({ tree }: { readonly tree: TreeView }): ReactNode {
  const [params, setParams] = useSearchParams();
  const [, go] = useLocation();
  const { steps, error } = useSteps({ run: tree.treeId });
  const kind = params.get("kind") ?? "all";
  const order = params.get("sort") ?? "time";
  const rows = useMemo(() => {
    const wanted = (steps ?? []).filter((step) => kind === "all" || step.kind === kind);
    return order === "cost" ? wanted.toSorted((one, other) => total(other) - total(one)) : wanted;
  }, [steps, kind, order]);
  const list = useRowList(tree.treeId, rows.length, (index) => {
    const step = rows[index];
    if (step) go(stepPath(step));
  });
  const set = (name: string, value: string): void =>
    setParams((before) => ({ ...Object.fromEntries(before), [name]: value }), { replace: true });
  if (!steps)
    return error ? (
      <Failure title="The steps cannot be read" detail={errorText(error)} />
    ) : (
      <Skeleton label="Steps" />
    );
  return (
    <>
      <div className="tools">
        <Choice name="Kind" choices={kinds} chosen={kind} onChoose={(value) => set("kind", value)} />
        <Choice name="Order" choices={orders} chosen={order} onChoose={(value) => set("sort", value)} />
        <span className="right muted">
          {countText(rows.length, "step")}, {dollars(rows.reduce((sum, step) => sum + total(step), 0))}
        </span>
      </div>
      <div className="tab-scroll">
        <StepTable rows={rows.slice(0, list.shown)} at={list.at} />
        {rows.length > list.shown && (
          <button type="button" className="more" onClick={list.showMore}>
            Show more of {count(rows.length)}
          </button>
        )}
      </div>
      <KeyBar
        keys={[
          ["J K", "step"],
          ["↵", "open"],
          ["⌫", "back to the tree"],
        ]}
      />
    </>
  );
}

function StepTable({ rows, at }: { readonly rows: readonly StepFigures[]; readonly at: number }): ReactNode {
  return (
    <table className="tab-table">
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Agent</th>
          <th scope="col">Model or tool</th>
          <th scope="col">Began</th>
          <th scope="col" className="r">
            Took
          </th>
          <th scope="col" className="r">
            Tokens in
          </th>
          <th scope="col" className="r">
            Tokens out
          </th>
          <th scope="col" className="r">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((step, index) => (
          <StepRow key={step.stepId} step={step} index={index} isSelected={index === at} />
        ))}
      </tbody>
    </table>
  );
}

function StepRow({
  step,
  index,
  isSelected,
}: {
  readonly step: StepFigures;
  readonly index: number;
  readonly isSelected: boolean;
}): ReactNode {
  const ms = durationOf(step);
  const usages = step.attempts.flatMap(({ usage }) => usage ?? []);
  const { settledMicros, reservedMicros } = costOf(step);
  return (
    <tr className={isSelected ? "sel" : ""} data-row={index}>
      <th scope="row">
        <Link href={stepPath(step)}>
          <StepMark state={step.state} markOnly /> <InertText text={stepName(step)} />
        </Link>
      </th>
      <td>
        <InertText text={step.agent} /> <span className="mono muted">~{runNumber(step.runId)}</span>
      </td>
      <td>
        <InertText text={step.name} />
      </td>
      <td className="muted">{clockTime(step.at)}</td>
      <td className="r">{ms === null ? "–" : seconds(ms)}</td>
      <td className="r">
        {usages.length === 0 ? "–" : count(usages.reduce((sum, { input }) => sum + input, 0))}
      </td>
      <td className="r">
        {usages.length === 0 ? "–" : count(usages.reduce((sum, { output }) => sum + output, 0))}
      </td>
      <td className="r">
        {reservedMicros > 0 ? `≤ ${dollars(settledMicros + reservedMicros)}` : dollars(settledMicros)}
      </td>
    </tr>
  );
}

/** A choice among several values, as buttons. */
export function Choice<Value extends string>({
  name,
  choices,
  chosen,
  onChoose,
}: {
  readonly name: string;
  readonly choices: readonly (readonly [value: Value, title: string])[];
  readonly chosen: string;
  readonly onChoose: (value: Value) => void;
}): ReactNode {
  return (
    <div className="seg" role="group" aria-label={name}>
      {choices.map(([value, title]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {title}
        </button>
      ))}
    </div>
  );
}
