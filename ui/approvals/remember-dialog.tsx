import type { ReactNode } from "react";
import type { ApprovalRecord } from "../api/records.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { Modal } from "../parts/modal.tsx";

/** Asks again before every further call of a tool is approved. */
export function RememberDialog({
  record,
  onClose,
  onApprove,
}: {
  readonly record: ApprovalRecord;
  readonly onClose: () => void;
  readonly onApprove: () => void;
}): ReactNode {
  return (
    <Modal title={`Approve every further ${record.tool}?`} onClose={onClose}>
      <p>
        This call, and every further call of <InertText text={record.tool} /> by this run of{" "}
        <InertText text={record.agentId} /> with any arguments. This cannot be undone. If untrusted and
        private content meet, a person is asked again.
      </p>
      <div className="dialog-acts">
        <Button label="Close" hint="Esc" onPress={onClose} />
        <Button
          label="Approve all of them"
          tone="primary"
          onPress={() => {
            onApprove();
            onClose();
          }}
        />
      </div>
    </Modal>
  );
}
