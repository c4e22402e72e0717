import { type ReactNode, useState } from "react";
import { useDecide } from "../api/decide.ts";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { AnswerForm, questionOf } from "../approvals/answer-form.tsx";
import { ArgumentTable } from "../approvals/argument-table.tsx";
import { EditDialog } from "../approvals/edit-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useSettled } from "../parts/use-settled.ts";

type Verb = "approve" | "deny" | "edit";

/** A question where it was asked. Only the first one has keys. */
export function Question({
  record,
  isFirst,
}: {
  readonly record: ApprovalRecord;
  readonly isFirst: boolean;
}): ReactNode {
  const decide = useDecide();
  const [isEditing, setEditing] = useState(false);
  const lock = useLock("approve");
  const isSettled = useSettled(record.id);
  const settle = (verb: Verb, edited?: Json): void => {
    if (lock === null && isSettled())
      void decide(record, { verb, ...(edited !== undefined && { arguments: edited }) });
  };
  const isCall = record.asks === undefined;
  const edit = (): void => {
    if (lock === null) setEditing(true);
  };
  const callKeys = isCall ? { a: () => settle("approve"), e: edit } : {};
  useKeys(isFirst ? { d: () => settle("deny"), ...callKeys } : {});
  return (
    <div className="qn">
      <header>
        <StatusMark status="needs you" markOnly />
        <b>
          <InertText
            text={isCall ? `May ${record.agentId} call ${record.tool}?` : `${record.agentId} asks a question`}
          />
        </b>
        <span className="sub risk">risk {record.risk}</span>
      </header>
      {isCall && (
        <p className="sub qn-why">
          <InertText text={record.why} />
        </p>
      )}
      {isCall || record.withheld ? (
        <ArgumentTable record={record} />
      ) : (
        <AnswerForm
          question={questionOf(record.arguments)}
          isOpen={lock === null}
          onAnswer={(edited) => settle("edit", edited)}
        />
      )}
      <Decisions isCall={isCall} lock={lock} onEdit={edit} onSettle={settle} />
      {isEditing && (
        <EditDialog
          record={record}
          onClose={() => setEditing(false)}
          onSave={(edited) => settle("edit", edited)}
        />
      )}
    </div>
  );
}

function Decisions({
  isCall,
  lock,
  onEdit,
  onSettle,
}: {
  readonly isCall: boolean;
  readonly lock: string | null;
  readonly onEdit: () => void;
  readonly onSettle: (verb: "approve" | "deny") => void;
}): ReactNode {
  const common = { size: "small", locked: lock } as const;
  return (
    <footer>
      {isCall && <Button {...common} label="Edit" hint="E" onPress={onEdit} />}
      <Button {...common} label="Deny" hint="D" tone="danger" onPress={() => onSettle("deny")} />
      {isCall && (
        <Button {...common} label="Approve" hint="A" tone="primary" onPress={() => onSettle("approve")} />
      )}
    </footer>
  );
}
