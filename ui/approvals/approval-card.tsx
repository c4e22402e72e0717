import { type ReactNode, type RefObject, useRef, useState } from "react";
import { Link } from "wouter";
import { type DecisionOutcome, useDecide } from "../api/decide.ts";
import { segment } from "../api/http.ts";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { Ago } from "../parts/ago.tsx";
import { clockTime, countText, dayTime, dollars } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useSettled } from "../parts/use-settled.ts";
import { ArgumentTable, toFields, useFolds } from "./argument-table.tsx";
import { DecisionLine } from "./decision-line.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { AnswerForm, questionOf } from "./answer-form.tsx";
import { Reason } from "./reason.tsx";
import { RememberDialog } from "./remember-dialog.tsx";

type Settle = (
  verb: "approve" | "deny" | "edit",
  more?: { readonly remember?: boolean; readonly edited?: Json },
) => void;

interface CardProps {
  readonly record: ApprovalRecord;
  /** Called at once; the outcome follows. */
  readonly onDecided: (outcome: Promise<DecisionOutcome>) => void;
}

type CardDialog = "edit" | "remember";

/** The actions of the reader on a question, and the dialog that is open. */
function useCardActions({ record, onDecided }: CardProps): {
  readonly lock: string | null;
  readonly isOpen: boolean;
  readonly mayRemember: boolean;
  readonly words: RefObject<HTMLInputElement | null>;
  readonly settle: Settle;
  readonly dialog: CardDialog | null;
  readonly setDialog: (dialog: CardDialog | null) => void;
} {
  const decide = useDecide();
  const [dialog, setDialog] = useState<CardDialog | null>(null);
  const words = useRef<HTMLInputElement>(null);
  const isSettled = useSettled(record.id);
  const lock = useLock("approve");
  const isOpen = record.decision === null;
  const settle: Settle = (verb, { remember = false, edited } = {}) => {
    if (!isOpen || lock !== null || !isSettled()) return;
    const reason = words.current?.value.trim() ?? "";
    onDecided(decide(record, { verb, reason, remember, ...(edited !== undefined && { arguments: edited }) }));
  };
  return {
    lock,
    isOpen,
    mayRemember: record.asks === undefined && record.ruleOfTwo === undefined,
    words,
    settle,
    dialog,
    setDialog: (next) => {
      if (next === null || (isOpen && lock === null)) setDialog(next);
    },
  };
}

/** One question: its reason, the exact call, and the decision. */
export function ApprovalCard(props: CardProps): ReactNode {
  const { record } = props;
  const actions = useCardActions(props);
  const { lock, isOpen, mayRemember, settle, setDialog } = actions;
  const fields = toFields(record.arguments);
  const folds = useFolds(fields);
  const isCall = record.asks === undefined;
  const edit = (): void => setDialog("edit");
  const remember = (): void => setDialog("remember");
  useKeys({
    d: () => settle("deny"),
    ...(isCall && { a: () => settle("approve"), e: edit, f: folds.unfoldAll }),
    ...(mayRemember && { A: remember }),
  });
  return (
    <section className="decision" aria-label="The question">
      <div className="pad">
        <Heading record={record} />
        <DecisionLine record={record} />
        <Reason record={record} />
        {isCall || record.withheld ? (
          <ArgumentTable record={record} fields={fields} folds={folds} />
        ) : (
          <AnswerForm
            question={questionOf(record.arguments)}
            isOpen={isOpen && lock === null}
            onAnswer={(edited) => settle("edit", { edited })}
          />
        )}
        <Facts record={record} />
      </div>
      {isOpen && (
        <Actions
          isCall={isCall}
          hiddenLines={isCall ? folds.hiddenLines : 0}
          lock={lock}
          words={actions.words}
          onEdit={edit}
          onRemember={mayRemember ? remember : null}
          onSettle={settle}
        />
      )}
      <Dialogs record={record} dialog={actions.dialog} onClose={() => setDialog(null)} onSettle={settle} />
    </section>
  );
}

function Dialogs({
  record,
  dialog,
  onClose,
  onSettle,
}: {
  readonly record: ApprovalRecord;
  readonly dialog: CardDialog | null;
  readonly onClose: () => void;
  readonly onSettle: Settle;
}): ReactNode {
  if (dialog === "remember")
    return (
      <RememberDialog
        record={record}
        onClose={onClose}
        onApprove={() => onSettle("approve", { remember: true })}
      />
    );
  if (dialog === "edit")
    return <EditDialog record={record} onClose={onClose} onSave={(edited) => onSettle("edit", { edited })} />;
  return null;
}

function Heading({ record }: { readonly record: ApprovalRecord }): ReactNode {
  const { decision } = record;
  return (
    <div>
      <div className="line">
        {decision ? <span className="pill">{decision.decision}</span> : <StatusMark status="needs you" />}
        <h2 className="ask-title">
          <InertText text={record.agentId} />
          {record.asks ? " asks a question" : " wants to call "}
          {!record.asks && (
            <span className="mono">
              <InertText text={record.tool} />
            </span>
          )}
        </h2>
      </div>
      <div className="sub">
        in{" "}
        <Link className="link" href={`/runs/${segment(record.treeId)}`}>
          <InertText text={record.treeName ?? record.treeId} />
        </Link>
        {record.parents !== undefined && (
          <>
            , spawned by <InertText text={record.parents.map(({ agentId }) => agentId).join(" › ")} />
          </>
        )}
      </div>
    </div>
  );
}

function Facts({ record }: { readonly record: ApprovalRecord }): ReactNode {
  const { decision } = record;
  return (
    <div className="facts">
      <div>
        <div className="k">Tree had spent</div>
        {dollars(record.spentMicros)}
      </div>
      <div>
        <div className="k">{decision ? "Asked" : "Waiting since"}</div>
        {clockTime(record.requestedAt)}, <Ago at={record.requestedAt} />
      </div>
      <div>
        <div className="k">{decision ? "Decided" : "Denied unless decided by"}</div>
        {dayTime(decision ? decision.at : record.expiresAt)}
      </div>
      <div>
        <div className="k">Risk</div>
        {record.risk}
      </div>
    </div>
  );
}

function Actions({
  isCall,
  hiddenLines,
  lock,
  words,
  onEdit,
  onRemember,
  onSettle,
}: {
  readonly isCall: boolean;
  readonly hiddenLines: number;
  readonly lock: string | null;
  readonly words: RefObject<HTMLInputElement | null>;
  readonly onEdit: () => void;
  /** Null: an approval of it cannot be remembered. */
  readonly onRemember: (() => void) | null;
  readonly onSettle: (verb: "approve" | "deny") => void;
}): ReactNode {
  return (
    <div className="act">
      <input
        ref={words}
        aria-label="Message to the model"
        placeholder="Message to the model, if you deny or edit"
      />
      {isCall && <Button label="Edit arguments" hint="E" size="large" locked={lock} onPress={onEdit} />}
      <Button
        label="Deny"
        hint="D"
        size="large"
        tone="danger"
        locked={lock}
        onPress={() => onSettle("deny")}
      />
      {onRemember && (
        <Button label="Approve this tool" hint="⇧A" size="large" locked={lock} onPress={onRemember} />
      )}
      {isCall && (
        <Button
          label={hiddenLines === 0 ? "Approve once" : `Approve, ${countText(hiddenLines, "line")} not seen`}
          hint="A"
          size="large"
          tone="primary"
          locked={lock}
          onPress={() => onSettle("approve")}
        />
      )}
    </div>
  );
}
