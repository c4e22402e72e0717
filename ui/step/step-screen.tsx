import { type ReactNode, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import type { StepFigures } from "#view";
import { ApiError, errorText, segment } from "../api/http.ts";
import { useLock } from "../api/session.tsx";
import { type StepRecord, useStep, useSteps } from "../api/steps.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { notify } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { PromptPart } from "./prompt-part.tsx";
import { type PromptMode, PromptView, requestOf } from "./prompt-view.tsx";
import { StepList } from "./step-list.tsx";
import { isOwnCall, placeOf, stepName, stepPath } from "./step-names.ts";
import { StepSide } from "./step-side.tsx";
import { durationOf, seconds, StepMark } from "./step-state.tsx";
// oxlint-disable-next-line import/no-unassigned-import -- styles of this part
import "./step.css";

const modes: readonly (readonly [mode: PromptMode, name: string])[] = [
  ["new", "New"],
  ["whole", "Whole"],
  ["sent", "As sent"],
];

const stepKeys = [
  ["J K", "step"],
  ["1 2 3", "new, whole, as sent"],
  ["E", "unfold all"],
  ["C", "copy"],
  ["⌫", "back to the tree"],
] as const;

/** One step of a run: its prompt, its answer, its cost and its decisions. */
export function StepScreen({
  tree,
  number,
  place,
}: {
  readonly tree: string;
  readonly number: string;
  /** For example `model:6`. */
  readonly place: string;
}): ReactNode {
  const run = `${tree}~${number}`;
  const { steps, error } = useSteps({ run, own: true });
  const step = steps?.find(({ stepId }) => placeOf(stepId) === place);
  useTitle(step ? `${stepName(step)} of ${step.agent}` : tree);
  if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return <NothingHere />;
  if (!steps)
    return error ? (
      <Failure title="The step cannot be read" detail={errorText(error)} />
    ) : (
      <Skeleton label="Step" />
    );
  if (!step) return <NothingHere />;
  return <StepBody key={step.stepId} tree={tree} steps={steps} step={step} />;
}

/** The model call of the agent's own loop before a step; null: there is none. */
function callBefore(steps: readonly StepFigures[], step: StepFigures): StepFigures | null {
  if (!isOwnCall(step)) return null;
  return (
    steps.slice(0, steps.indexOf(step)).findLast((each) => isOwnCall(each) && each.state !== "running") ??
    null
  );
}

function StepBody({
  tree,
  steps,
  step,
}: {
  readonly tree: string;
  readonly steps: readonly StepFigures[];
  readonly step: StepFigures;
}): ReactNode {
  const [params, setParams] = useSearchParams();
  const [unfolded, setUnfolded] = useState(false);
  const mode = modes.find(([each]) => each === params.get("show"))?.[0] ?? "new";
  const before = callBefore(steps, step);
  const { data, error } = useStep(step, mode === "new" ? (before?.stepId ?? null) : null);
  const record = data ?? null;
  const show = (next: PromptMode): void => setParams(next === "new" ? {} : { show: next }, { replace: true });
  const copy = (): void => {
    if (record) void copyText(JSON.stringify(requestOf(step, record), null, 2));
  };
  useStepKeys({
    tree,
    steps,
    step,
    query: params.toString(),
    show,
    copy,
    unfold: () => setUnfolded(!unfolded),
  });
  const query = params.size > 0 ? `?${params.toString()}` : "";
  return (
    <>
      <div className="step-body">
        <StepList
          title={`${step.agent} ~${step.runId.slice(tree.length + 1)}`}
          steps={steps}
          selected={step.stepId}
          query={query}
        />
        <section className="step-mid" aria-label="Prompt">
          <StepHead step={step} mode={mode} onMode={show} onCopy={copy} />
          {/* Scrolls, so the keyboard must reach it. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <div className="scroll" role="region" aria-label="What was sent" tabIndex={0}>
            <StepContent {...{ step, record, before, mode, unfolded, error }} />
          </div>
        </section>
        <StepSide step={step} record={record} />
      </div>
      <KeyBar
        keys={stepKeys}
        right={`${step.stepId} · ${step.attempts.length === 1 ? "1 attempt" : `${step.attempts.length} attempts`}`}
      />
    </>
  );
}

async function copyText(text: string): Promise<void> {
  const isDone = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
  notify(isDone ? "Copied the request as JSON" : "The browser does not allow copying");
}

function StepHead({
  step,
  mode,
  onMode,
  onCopy,
}: {
  readonly step: StepFigures;
  readonly mode: PromptMode;
  readonly onMode: (mode: PromptMode) => void;
  readonly onCopy: () => void;
}): ReactNode {
  const ms = durationOf(step);
  const isModel = step.kind === "model";
  return (
    <div className="step-head">
      <StepMark state={step.state} />
      <h1 className="el">
        <InertText text={stepName(step)} />
      </h1>
      {isModel && (
        <span className="pill">
          <InertText text={step.name} />
        </span>
      )}
      {ms !== null && <span className="sub">{seconds(ms)}</span>}
      <div className="spring" />
      {isModel && (
        <div className="seg" role="group" aria-label="Show">
          {modes.map(([each, name]) => (
            <button key={each} type="button" aria-pressed={each === mode} onClick={() => onMode(each)}>
              {name}
            </button>
          ))}
        </div>
      )}
      <Button label="Copy" icon="copy" size="small" hint="C" onPress={onCopy} />
    </div>
  );
}

function StepContent({
  step,
  record,
  before,
  mode,
  unfolded,
  error,
}: {
  readonly step: StepFigures;
  readonly record: StepRecord | null;
  readonly before: StepFigures | null;
  readonly mode: PromptMode;
  readonly unfolded: boolean;
  readonly error: Error | null;
}): ReactNode {
  const lock = useLock("content");
  if (step.state === "running")
    return <Notice text="The call is in flight. Its request is recorded when it ends." />;
  if (error) return <Notice text={`The request cannot be read: ${errorText(error)}`} />;
  if (!record) return <Skeleton label="Prompt" />;
  if (record.content === "erased")
    return (
      <Notice text="[erased] The content of this step was erased with the tree's key. Costs and decisions are kept." />
    );
  if (record.content === "not-recorded")
    return (
      <Notice text="[not recorded] The content of this step was not recorded: the store was away, or recording is off. createRuntime({ store, record: “steps” }) records it." />
    );
  return (
    <>
      {lock !== null && <Notice text={`${lock}. Texts are locked; money, tokens and decisions are shown.`} />}
      {step.kind === "model" ? (
        <PromptView step={step} record={record} before={before} mode={mode} unfolded={unfolded} />
      ) : (
        [...record.prompt, ...record.answer].map((part) => (
          <PromptPart key={part.role} part={part} isNew={false} />
        ))
      )}
    </>
  );
}

function Notice({ text }: { readonly text: string }): ReactNode {
  return (
    <p className="notice">
      <InertText text={text} />
    </p>
  );
}

function useStepKeys({
  tree,
  steps,
  step,
  query,
  show,
  copy,
  unfold,
}: {
  readonly tree: string;
  readonly steps: readonly StepFigures[];
  readonly step: StepFigures;
  readonly query: string;
  readonly show: (mode: PromptMode) => void;
  readonly copy: () => void;
  readonly unfold: () => void;
}): void {
  const [, go] = useLocation();
  const move = (by: number): void => {
    const next = steps[steps.indexOf(step) + by];
    if (next) go(`${stepPath(next)}${query === "" ? "" : `?${query}`}`, { replace: true });
  };
  const number = step.runId.slice(tree.length + 1);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    "1": () => show("new"),
    "2": () => show("whole"),
    "3": () => show("sent"),
    e: unfold,
    c: copy,
    Backspace: () => go(`/runs/${segment(tree)}?at=~${number}`),
  });
}
