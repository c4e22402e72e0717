import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { useLocation } from "wouter";
import { request, segment } from "../api/http.ts";
import type { Page, RunRecord } from "../api/records.ts";
import { InertText } from "../parts/inert-text.tsx";
import { Modal } from "../parts/modal.tsx";

interface Command {
  readonly name: string;
  readonly detail: string;
  readonly path: string;
}

const fixed: readonly Command[] = [
  { name: "Runs", detail: "all trees", path: "/runs" },
  { name: "Live runs", detail: "trees that have not ended", path: "/runs?show=live" },
  { name: "Runs that need you", detail: "trees with an open question", path: "/runs?show=asks" },
  { name: "Approvals", detail: "questions to people", path: "/approvals" },
  { name: "Spend", detail: "money by day, model and agent", path: "/spend" },
  { name: "Playground", detail: "start an agent", path: "/play" },
];

const maxShown = 12;

function matches({ name, detail }: Command, words: readonly string[]): boolean {
  const text = `${name} ${detail}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** A list of places to go to, filtered by what the reader types. */
export function CommandBar({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const { data } = useQuery({
    queryKey: ["runs", "recent"],
    queryFn: ({ signal }) => request<Page<RunRecord>>("/runs?roots=true&size=100", { signal }),
  });
  const runs = (data?.items ?? []).map(({ treeId, agentId, name, status }) => ({
    name: name ?? treeId,
    detail: `${agentId}, ${status}`,
    path: `/runs/${segment(treeId)}`,
  }));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...fixed, ...runs].filter((each) => matches(each, words)).slice(0, maxShown);
  const open = ({ path }: Command): void => {
    onClose();
    go(path);
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    }
    const chosen = found[at];
    if (event.key === "Enter" && chosen) open(chosen);
  };
  return (
    <Modal title="Go to or search" onClose={onClose} wide>
      <input
        role="combobox"
        aria-label="Go to or search"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
        placeholder="A place, or the name, id, agent or status of a run"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <CommandList id={list} commands={found} at={at} onOpen={open} />
      {found.length === 0 && <p className="sub">Nothing has these words.</p>}
    </Modal>
  );
}

function CommandList({
  id,
  commands,
  at,
  onOpen,
}: {
  readonly id: string;
  readonly commands: readonly Command[];
  readonly at: number;
  readonly onOpen: (command: Command) => void;
}): ReactNode {
  return (
    <ul role="listbox" id={id} aria-label="Places" className="commands">
      {commands.map((command, index) => (
        <li
          key={command.path}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onClick={() => onOpen(command)}
        >
          <b>
            <InertText text={command.name} />
          </b>
          <span className="muted">{command.detail}</span>
        </li>
      ))}
    </ul>
  );
}
