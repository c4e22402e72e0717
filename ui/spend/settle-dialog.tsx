import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { costOfUsage } from "#view";
import { errorText, post, request, segment } from "../api/http.ts";
import type { Page } from "../api/records.ts";
import { countText } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { Modal } from "../parts/modal.tsx";
import { notify } from "../parts/toast.tsx";
import { doubtsKey } from "./queries.ts";
import { exactDollars } from "./range.ts";
import type { DoubtRecord } from "./records.ts";

/** The booking of a call in doubt. */
interface Booking {
  readonly ceiling: { readonly tokens: number; readonly costMicros: number };
  readonly price: Parameters<typeof costOfUsage>[1];
}

/** The tokens of a bill. */
interface TokenCounts {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

const fields = [
  ["input", "Input tokens, cached ones included"],
  ["cachedInput", "Cached input tokens"],
  ["output", "Output tokens"],
] as const;

/** Milliseconds until the roll-up includes it. */
const heardMs = 1_000;

/** Removes a call from the list at once, and reads the sums again when they include it. */
function forgetDoubt(queries: QueryClient, attempt: string): void {
  queries.setQueryData<Page<DoubtRecord>>(
    doubtsKey,
    (before) => before && { ...before, items: before.items.filter((each) => each.attempt !== attempt) },
  );
  setTimeout(() => void queries.invalidateQueries({ queryKey: ["spend"] }), heardMs);
}

/** Books the real usage of a call in doubt. Shows the cost of the tokens before, and the booking after. */
export function SettleDialog({
  doubt,
  onClose,
}: {
  readonly doubt: DoubtRecord;
  readonly onClose: () => void;
}): ReactNode {
  const queries = useQueryClient();
  const [usage, setUsage] = useState<TokenCounts>({ input: 0, cachedInput: 0, output: 0 });
  const [problem, setProblem] = useState<string | null>(null);
  const path = `/runs/${segment(doubt.runId)}`;
  const { data: booking, error } = useQuery({
    queryKey: ["doubt", doubt.attempt],
    queryFn: ({ signal }) => request<Booking | null>(`${path}/doubts/${segment(doubt.attempt)}`, { signal }),
  });
  const cost = costOfUsage(usage, booking?.price ?? null);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (!booking || cost === null) return;
    try {
      const body = { attempt: doubt.attempt, usage };
      const { reconciled } = await post<{ reconciled: boolean }>(`${path}/reconcile`, body);
      notify(
        reconciled
          ? `Settled: ${exactDollars(cost)} booked, ${exactDollars(Math.max(0, doubt.costMicros - cost))} free again`
          : "The call is no longer in doubt",
      );
      forgetDoubt(queries, doubt.attempt);
      onClose();
    } catch (failure) {
      setProblem(errorText(failure));
    }
  };
  return (
    <Modal title="Settle a call in doubt" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p className="sub">
          <InertText text={`${doubt.model} of ${doubt.agentType}, in ${doubt.treeId}`} />. Take the tokens
          from the provider's bill. It is booked at its ceiling: {exactDollars(doubt.costMicros)},{" "}
          {countText(doubt.tokens, "token")}.
        </p>
        {booking === null && <p className="problem">The call is no longer in doubt.</p>}
        {error && <p className="problem">{errorText(error)}</p>}
        <UsageFields usage={usage} onChange={setUsage} />
        <p aria-live="polite">
          {cost !== null
            ? `It comes to ${exactDollars(cost)}${booking && booking.price === null ? ": the model has no price" : ""}.`
            : "Cached tokens are a part of the input."}
        </p>
        {problem !== null && <p className="problem">{problem}</p>}
        <div className="dialog-acts">
          <Button label="Leave in doubt" hint="Esc" onPress={onClose} />
          <button type="submit" className="btn pri" disabled={!booking || cost === null}>
            Settle
          </button>
        </div>
      </form>
    </Modal>
  );
}

function UsageFields({
  usage,
  onChange,
}: {
  readonly usage: TokenCounts;
  readonly onChange: (usage: TokenCounts) => void;
}): ReactNode {
  return fields.map(([name, label]) => (
    <label key={name}>
      {label}
      <input
        type="number"
        min="0"
        step="1"
        value={usage[name]}
        onChange={({ target }) =>
          onChange({ ...usage, [name]: Math.max(0, Math.floor(target.valueAsNumber || 0)) })
        }
      />
    </label>
  ));
}
