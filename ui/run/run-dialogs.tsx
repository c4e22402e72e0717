import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type AgentView, allAgents, spendOf, type TreeView } from "#view";
import { runActions } from "../api/run-actions.ts";
import { countText, dollars } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { Modal } from "../parts/modal.tsx";
import { SpendBar } from "../parts/spend-bar.tsx";

/** A dialog about one agent. */
export interface RunDialog {
  readonly kind: "steer" | "top-up" | "cancel";
  readonly agent: AgentView;
}

interface DialogProps {
  readonly agent: AgentView;
  readonly tree: TreeView;
  readonly onClose: () => void;
}

/** The dialog that is open. */
export function RunDialogs({
  dialog,
  tree,
  onClose,
}: {
  readonly dialog: RunDialog;
  readonly tree: TreeView;
  readonly onClose: () => void;
}): ReactNode {
  const props = { agent: dialog.agent, tree, onClose };
  switch (dialog.kind) {
    case "steer":
      return <SteerDialog {...props} />;
    case "top-up":
      return <TopUpDialog {...props} />;
    case "cancel":
      return <CancelDialog {...props} />;
  }
}

function fieldOf(event: FormEvent<HTMLFormElement>, name: string): string {
  event.preventDefault();
  const value = new FormData(event.currentTarget).get(name);
  return typeof value === "string" ? value.trim() : "";
}

function SteerDialog({ agent, onClose }: DialogProps): ReactNode {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    const text = fieldOf(event, "text");
    if (text === "") return;
    void runActions.steer(agent.runId, text);
    onClose();
  };
  return (
    <Modal title={`Steer ${agent.agent}`} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          It is read before the next model call.
          <textarea name="text" rows={4} required />
        </label>
        <div className="dialog-acts">
          <Button label="Close" hint="Esc" onPress={onClose} />
          <button type="submit" className="btn pri">
            Steer
          </button>
        </div>
      </form>
    </Modal>
  );
}

const presets = [0.2, 1, 5] as const;

function TopUpDialog({ agent, tree, onClose }: DialogProps): ReactNode {
  const [usd, setUsd] = useState(0.2);
  const field = useRef<HTMLInputElement>(null);
  // Enter tops up at once.
  useEffect(() => field.current?.select(), []);
  const before = spendOf(agent, tree);
  const after = {
    ...before,
    maxCostMicros: before.maxCostMicros === null ? null : before.maxCostMicros + usd * 1_000_000,
  };
  return (
    <Modal title={`Top up ${agent.agent}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void runActions.topUp(agent.runId, usd);
          onClose();
        }}
      >
        <div className="presets">
          {presets.map((each) => (
            <button
              key={each}
              type="button"
              className="btn"
              aria-pressed={usd === each}
              onClick={() => setUsd(each)}
            >
              +${each.toFixed(2)}
            </button>
          ))}
          <label>
            Dollars
            <input
              ref={field}
              type="number"
              min="0.01"
              step="0.01"
              value={usd}
              onChange={({ target }) => setUsd(Math.max(0, target.valueAsNumber || 0))}
            />
          </label>
        </div>
        <SpendBar spend={after} big />
        <p className="sub">
          {before.maxCostMicros === null
            ? "The agent has no limit of its own: it needs no top-up."
            : `${dollars(Math.max(0, (after.maxCostMicros ?? 0) - before.settledMicros - before.inDoubtMicros - before.reservedMicros))} free afterwards. A top-up cannot be undone.`}
        </p>
        <div className="dialog-acts">
          <Button label="Close" hint="Esc" onPress={onClose} />
          <button type="submit" className="btn pri">
            Top up
          </button>
        </div>
      </form>
    </Modal>
  );
}

function CancelDialog({ agent, onClose }: DialogProps): ReactNode {
  const live = [...allAgents(agent)].filter(({ end }) => end === null).length;
  const below = live - 1;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    void runActions.cancel(agent.runId, fieldOf(event, "reason"));
    onClose();
  };
  return (
    <Modal
      title={below > 0 ? `Cancel ${agent.agent} and ${below} below it?` : `Cancel ${agent.agent}?`}
      onClose={onClose}
    >
      <form onSubmit={submit}>
        <ul>
          {agent.reservedMicros > 0 && (
            <li>Calls in flight may end first: at most {dollars(agent.reservedMicros)}</li>
          )}
          <li>{dollars(agent.costMicros)} is spent and cannot be recovered</li>
        </ul>
        <label>
          Reason, for the audit (optional)
          <input name="reason" autoComplete="off" />
        </label>
        <div className="dialog-acts">
          <Button label="Keep running" hint="Esc" onPress={onClose} />
          <button type="submit" className="btn danger-fill">
            Cancel {countText(live, "run")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
