import { type ReactNode, useState } from "react";
import type { StepFigures } from "#view";
import { type PartRecord, type StepRecord, useStep } from "../api/steps.ts";
import { count, countText } from "../parts/amounts.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { partName, PromptPart } from "./prompt-part.tsx";
import { stepName } from "./step-names.ts";

/** The ways to show a prompt: the parts that are new since the call before, all of it, or as JSON. */
export type PromptMode = "new" | "whole" | "sent";

interface PromptProps {
  readonly step: StepFigures;
  readonly record: StepRecord;
  /** The model call that the prompt is compared with; null: it is the first. */
  readonly before: StepFigures | null;
  /** Whether unchanged parts start open. */
  readonly unfolded: boolean;
}

/** A prompt, in the mode that the reader has chosen. */
export function PromptView({ mode, ...props }: PromptProps & { readonly mode: PromptMode }): ReactNode {
  const { record, step } = props;
  if (mode === "sent") return <AsSent step={step} record={record} />;
  if (mode === "new") return <NewParts {...props} />;
  return record.prompt.map((part, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- parts are known by their place
    <PromptPart key={index} part={part} isNew={false} />
  ));
}

/** A run of parts that are the same, or one that is new. */
type Group = { readonly from: number; readonly parts: readonly PartRecord[]; readonly isSame: boolean };

const isFixed = ({ role }: PartRecord): boolean => role === "system" || role === "tools";

/** System message and tools are lines of their own; messages that are the same are one line. */
function groupsOf(prompt: readonly PartRecord[]): readonly Group[] {
  const groups: Group[] = [];
  for (const [index, part] of prompt.entries()) {
    const last = groups.at(-1);
    const isSame = part.same === true;
    const first = last?.parts[0];
    if (isSame && last?.isSame && first && !isFixed(first) && !isFixed(part))
      groups[groups.length - 1] = { ...last, parts: [...last.parts, part] };
    else groups.push({ from: index, parts: [part], isSame });
  }
  return groups;
}

/** The number of parts at the beginning that came from the provider's cache, by its count of cached tokens. */
function cachedParts(prompt: readonly PartRecord[], { attempts }: StepFigures): number {
  const usage = attempts.findLast((attempt) => attempt.usage !== null)?.usage;
  // Tokens of parts are estimates, so the last part may slightly exceed the cached amount.
  const cached = (usage?.cachedInput ?? 0) * 1.05;
  let sum = 0;
  const end = prompt.findIndex(({ same, tokens }) => same !== true || (sum += tokens) > cached);
  return end < 0 ? prompt.length : end;
}

function NewParts({ step, record, before, unfolded }: PromptProps): ReactNode {
  const { prompt, replaced } = record;
  const cached = cachedParts(prompt, step);
  const isFirstAnswer = (group: Group): boolean =>
    prompt.findIndex(({ role, same }) => role === "assistant" && same !== true) === group.from;
  return groupsOf(prompt).map((group) => {
    const [part] = group.parts;
    if (!part) return null;
    if (group.isSame) {
      const isCached = group.from + group.parts.length <= cached;
      return <SameLine key={group.from} step={step} group={group} isCached={isCached} unfolded={unfolded} />;
    }
    return (
      <PromptPart
        key={group.from}
        part={part}
        isNew={before !== null}
        replaced={replaced.find(({ role }) => role === part.role) ?? null}
        saidBy={before && isFirstAnswer(group) ? stepName(before) : null}
      />
    );
  });
}

function SameLine({
  step,
  group,
  isCached,
  unfolded,
}: {
  readonly step: StepFigures;
  readonly group: Group;
  readonly isCached: boolean;
  readonly unfolded: boolean;
}): ReactNode {
  const [isToggled, setToggled] = useState(false);
  const isOpen = isToggled !== unfolded;
  const { parts, from } = group;
  const [first] = parts;
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
  return (
    <div className="same">
      <button
        type="button"
        className="fold-line"
        aria-expanded={isOpen}
        onClick={() => setToggled(!isToggled)}
      >
        <Icon name={isOpen ? "down" : "right"} size={12} />
        <b>{first && isFixed(first) ? partName(first) : countText(parts.length, "message")}</b>
        <span>unchanged</span>
        {isCached && <span className="pill ok">cached</span>}
        <span className="right">{count(tokens)} tokens</span>
      </button>
      {isOpen && <WholeParts step={step} from={from} to={from + parts.length} />}
    </div>
  );
}

/** Parts that a comparison has left out, read when they are unfolded. */
function WholeParts({
  step,
  from,
  to,
}: {
  readonly step: StepFigures;
  readonly from: number;
  readonly to: number;
}): ReactNode {
  const { data } = useStep(step, null);
  return (
    data?.prompt
      .slice(from, to)
      // oxlint-disable-next-line react/no-array-index-key -- parts are known by their place
      .map((part, index) => <PromptPart key={index} part={part} isNew={false} />)
  );
}

/** The request in the form in which the model was given it. */
export function requestOf({ name }: StepFigures, { prompt }: StepRecord): object {
  const contents = (isWanted: (part: PartRecord) => boolean): readonly unknown[] =>
    prompt.filter(isWanted).map(({ content = null, missing }) => content ?? `[${missing ?? "locked"}]`);
  const [tools = []] = contents(({ role }) => role === "tools");
  return { model: name, tools, messages: contents(({ role }) => role !== "tools") };
}

function AsSent({ step, record }: Pick<PromptProps, "step" | "record">): ReactNode {
  return (
    <>
      <p className="sub">
        {record.isEqual
          ? "Identical to the request: the hash over all parts matches."
          : "Incomplete: some parts of the request are missing."}
      </p>
      <div className="part-body">
        <JsonTree value={requestOf(step, record)} open={5} />
      </div>
    </>
  );
}
