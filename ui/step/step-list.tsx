import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";
import type { StepFigures } from "#view";
import { countText } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { amountText, StepMark } from "./step-state.tsx";
import { stepName, stepPath } from "./step-names.ts";

/** The steps of one run, oldest first. */
export function StepList({
  title,
  steps,
  selected,
  query,
}: {
  readonly title: string;
  readonly steps: readonly StepFigures[];
  readonly selected: string;
  /** The query string to keep. */
  readonly query: string;
}): ReactNode {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <nav className="step-list" aria-label="Steps" ref={list}>
      <h2>
        <InertText text={title} />, {countText(steps.length, "step")}
      </h2>
      {steps.map((step) => (
        <Link
          key={step.stepId}
          href={`${stepPath(step)}${query}`}
          className={step.stepId === selected ? "s sel" : "s"}
          aria-current={step.stepId === selected ? "true" : undefined}
        >
          <StepMark state={step.state} markOnly />
          <span className="el">
            <InertText text={stepName(step)} />
            {step.attempts.length > 1 && <span className="muted"> ×{step.attempts.length}</span>}
          </span>
          <small>{amountText(step)}</small>
        </Link>
      ))}
    </nav>
  );
}
