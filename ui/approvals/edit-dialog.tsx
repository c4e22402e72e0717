import { type FormEvent, type ReactNode, useState } from "react";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { Button } from "../parts/button.tsx";
import { Modal } from "../parts/modal.tsx";

/** Lets a user change the arguments of a call. The server checks them against the tool's schema. */
export function EditDialog({
  record,
  onClose,
  onSave,
}: {
  readonly record: ApprovalRecord;
  readonly onClose: () => void;
  readonly onSave: (edited: Json) => void;
}): ReactNode {
  const [problem, setProblem] = useState<string | null>(null);
  const save = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get("arguments");
    try {
      const edited: Json = JSON.parse(typeof text === "string" ? text : "");
      onSave(edited);
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Modal title={`Edit the arguments of ${record.tool}`} onClose={onClose} wide>
      <form onSubmit={save}>
        <label>
          Arguments, as JSON
          <textarea
            name="arguments"
            className="mono"
            rows={12}
            defaultValue={JSON.stringify(record.arguments, null, 2)}
          />
        </label>
        {problem !== null && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="dialog-acts">
          <Button label="Close" hint="Esc" onPress={onClose} />
          <button type="submit" className="btn pri">
            Approve with these
          </button>
        </div>
      </form>
    </Modal>
  );
}
