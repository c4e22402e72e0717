import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";
import type { TreeView } from "#view";
import { errorText } from "../../api/http.ts";
import { useEvents } from "../../api/steps.ts";
import type { TreeEvent } from "../../live/messages.ts";
import { clockTime, count, countText } from "../../parts/amounts.ts";
import { Icon } from "../../parts/icon.tsx";
import { InertText } from "../../parts/inert-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { KeyBar } from "../../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../../parts/states.tsx";
import { runNumber } from "../../step/step-names.ts";
import { detailOf } from "../event-log.tsx";
import { useRowList } from "./row-list.ts";

/** The first parts of event types. */
const nouns = [
  "run",
  "model",
  "tool",
  "budget",
  "spawn",
  "approval",
  "permission",
  "guardrail",
  "cycle",
  "turn",
  "session",
  "message",
  "retry",
  "compaction",
  "handoff",
  "flow",
  "progress",
  "extension",
  "custom",
] as const;

/** All events of a tree as they are stored. The filter by type is part of the address. */
export function EventsTab({ tree }: { readonly tree: TreeView }): ReactNode {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState("");
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const type = nouns.find((noun) => noun === params.get("type")) ?? "";
  const { data, error } = useEvents({ run: tree.treeId, types: type === "" ? [] : [type] });
  const isWanted = (event: TreeEvent): boolean =>
    (type === "" || event.type === type || event.type.startsWith(`${type}.`)) &&
    (text === "" || JSON.stringify(event).toLowerCase().includes(text.toLowerCase()));
  const rows = (data?.events ?? []).filter(isWanted);
  const toggle = (index: number): void => {
    const seq = rows[index]?.seq;
    if (seq === undefined) return;
    const next = new Set(open);
    if (!next.delete(seq)) next.add(seq);
    setOpen(next);
  };
  const list = useRowList(tree.treeId, rows.length, toggle);
  const setType = (next: string): void => setParams(next === "" ? {} : { type: next }, { replace: true });
  return (
    <>
      <EventFilter type={type} text={text} found={rows.length} onText={setText} onType={setType} />
      {!data && !error && <Skeleton label="Events" />}
      {error && <Failure title="The events cannot be read" detail={errorText(error)} />}
      {data && rows.length === 0 && (
        <Empty title="No event matches">
          <p>Choose another type, or another text.</p>
        </Empty>
      )}
      <div className="tab-scroll">
        {rows.slice(0, list.shown).map((event, index) => (
          <EventRow
            key={event.seq}
            event={event}
            index={index}
            isSelected={index === list.at}
            isOpen={open.has(event.seq)}
            onToggle={() => {
              list.choose(index);
              toggle(index);
            }}
          />
        ))}
        {rows.length > list.shown && (
          <button type="button" className="more" onClick={list.showMore}>
            Show more of {count(rows.length)}
          </button>
        )}
      </div>
      <KeyBar
        keys={[
          ["J K", "event"],
          ["↵", "its JSON"],
          ["⌫", "back to the tree"],
        ]}
      />
    </>
  );
}

function EventFilter({
  type,
  text,
  found,
  onType,
  onText,
}: {
  readonly type: string;
  readonly text: string;
  readonly found: number;
  readonly onType: (type: string) => void;
  readonly onText: (text: string) => void;
}): ReactNode {
  return (
    <div className="tools">
      <label className="line">
        Type
        <select value={type} onChange={({ target }) => onType(target.value)}>
          <option value="">all</option>
          {nouns.map((noun) => (
            <option key={noun}>{noun}</option>
          ))}
        </select>
      </label>
      <div className="filter">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Filter events"
          placeholder="Any text of an event"
          value={text}
          onChange={({ target }) => onText(target.value)}
        />
      </div>
      <span className="muted">{countText(found, "event")}</span>
    </div>
  );
}

function EventRow({
  event,
  index,
  isSelected,
  isOpen,
  onToggle,
}: {
  readonly event: TreeEvent;
  readonly index: number;
  readonly isSelected: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): ReactNode {
  return (
    <div data-row={index}>
      <button
        type="button"
        className={isSelected ? "event-line sel" : "event-line"}
        aria-expanded={isOpen}
        onClick={onToggle}
      >
        <span>{count(event.seq)}</span>
        <span>{clockTime(event.at)}</span>
        <b className="el">
          <InertText text={event.agent} /> ~{runNumber(event.runId)}
        </b>
        <span className="el">{event.type}</span>
        <span className="el">
          <InertText text={detailOf(event)} />
        </span>
      </button>
      {isOpen && (
        <div className="event-json">
          <JsonTree value={event} open={3} />
        </div>
      )}
    </div>
  );
}
