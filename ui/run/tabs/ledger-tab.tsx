import { type ReactNode, useMemo } from "react";
import { useSearchParams } from "wouter";
import type { TreeView } from "#view";
import { errorText } from "../../api/http.ts";
import { useEvents } from "../../api/steps.ts";
import type { TreeEvent } from "../../live/messages.ts";
import { clockTime, count, dollars } from "../../parts/amounts.ts";
import { InertText } from "../../parts/inert-text.tsx";
import { KeyBar } from "../../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../../parts/states.tsx";
import { runNumber } from "../../step/step-names.ts";
import { detailOf } from "../event-log.tsx";
import { useRowList } from "./row-list.ts";
import { Choice } from "./steps-tab.tsx";

const names: Readonly<Record<string, string>> = {
  "budget.reserved": "reserved",
  "budget.settled": "settled",
  "budget.denied": "denied",
  "budget.waiting": "waits",
  "budget.topped-up": "topped up",
  "budget.warning": "warning",
};

const choices = [
  ["all", "All"],
  ["budget.settled", "Settled"],
  ["budget.reserved", "Reserved"],
  ["budget.denied", "Denied"],
  ["budget.topped-up", "Top-ups"],
] as const;

/** An entry of the ledger, with the sum that was booked up to it. */
interface LedgerRow {
  readonly event: TreeEvent;
  readonly bookedMicros: number;
}

/** A call that is reconciled is booked again in place of its ceiling. */
function rowsOf(events: readonly TreeEvent[]): readonly LedgerRow[] {
  const booked = new Map<string, number>();
  let bookedMicros = 0;
  return events.flatMap((event) => {
    if (event.type === "budget.settled") {
      const key = event.attempt ?? String(event.seq);
      bookedMicros += event.costMicros - (booked.get(key) ?? 0);
      booked.set(key, event.costMicros);
    }
    return event.type.startsWith("budget.") ? [{ event, bookedMicros }] : [];
  });
}

/** Every reservation, settlement, denial and top-up of a tree, with its run. */
export function LedgerTab({ tree }: { readonly tree: TreeView }): ReactNode {
  const [params, setParams] = useSearchParams();
  const { data, error } = useEvents({ run: tree.treeId, types: ["budget"] });
  const wanted = params.get("show") ?? "all";
  const rows = useMemo(() => rowsOf(data?.events ?? []), [data]);
  const shown = rows.filter(({ event }) => wanted === "all" || event.type === wanted);
  const list = useRowList(tree.treeId, shown.length, () => undefined);
  if (!data)
    return error ? (
      <Failure title="The ledger cannot be read" detail={errorText(error)} />
    ) : (
      <Skeleton label="Ledger" />
    );
  return (
    <>
      <div className="tools">
        <Choice
          name="Entries"
          choices={choices}
          chosen={wanted}
          onChoose={(value) => setParams(value === "all" ? {} : { show: value }, { replace: true })}
        />
        <span className="right muted">{dollars(rows.at(-1)?.bookedMicros ?? 0)} booked</span>
      </div>
      {shown.length === 0 ? (
        <Empty title="No entries">
          <p>The tree has no entry of this kind.</p>
        </Empty>
      ) : (
        <LedgerTable rows={shown.slice(0, list.shown)} at={list.at} />
      )}
      {shown.length > list.shown && (
        <button type="button" className="more" onClick={list.showMore}>
          Show more of {count(shown.length)}
        </button>
      )}
      <KeyBar
        keys={[
          ["J K", "entry"],
          ["⌫", "back to the tree"],
        ]}
      />
    </>
  );
}

function LedgerTable({ rows, at }: { readonly rows: readonly LedgerRow[]; readonly at: number }): ReactNode {
  return (
    <div className="tab-scroll">
      <table className="tab-table">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">At</th>
            <th scope="col">Agent</th>
            <th scope="col">Entry</th>
            <th scope="col">Amount</th>
            <th scope="col" className="r">
              Total booked
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ event, bookedMicros }, index) => (
            <tr key={event.seq} className={index === at ? "sel" : ""} data-row={index}>
              <th scope="row">{count(event.seq)}</th>
              <td className="muted">{clockTime(event.at)}</td>
              <td>
                <InertText text={event.agent} /> <span className="mono muted">~{runNumber(event.runId)}</span>
              </td>
              <td>{names[event.type] ?? event.type}</td>
              <td>
                <InertText text={detailOf(event)} />
              </td>
              <td className="r">{dollars(bookedMicros)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
