import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { request, segment } from "../api/http.ts";
import { useAgents } from "../api/queries.ts";
import type { Page, RunRecord } from "../api/records.ts";
import { InertText } from "../parts/inert-text.tsx";
import { Modal } from "../parts/modal.tsx";
import { copyCommand, copyLink } from "./copy-place.ts";

interface Command {
  readonly name: string;
  readonly detail: string;
  /** The place to go to, or something to do. */
  readonly target: string | (() => void);
}

const fixed: readonly Command[] = [
  { name: "Runs", detail: "all trees", target: "/runs" },
  { name: "Live runs", detail: "trees that have not ended", target: "/runs?show=live" },
  { name: "Runs that need you", detail: "trees with an open question", target: "/runs?show=asks" },
  { name: "Approvals", detail: "questions to people", target: "/approvals" },
  { name: "Decided approvals", detail: "past decisions", target: "/approvals?state=decided" },
  { name: "Spend", detail: "money by day, model and agent", target: "/spend" },
  { name: "Sessions", detail: "conversations", target: "/sessions" },
  { name: "Audit", detail: "the chain of decisions", target: "/audit" },
  { name: "Agents", detail: "tools and limits of each", target: "/agents" },
  { name: "Playground", detail: "start an agent", target: "/play" },
  { name: "Copy link", detail: "to this page, ⌘⇧C", target: () => void copyLink() },
  { name: "Copy as command", detail: "for a terminal, ⌥C", target: () => void copyCommand() },
];

const maxShown = 12;

function matches({ name, detail }: Command, words: readonly string[]): boolean {
  const text = `${name} ${detail}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The newest trees, and the agents. */
function useNamedPlaces(): { readonly named: readonly Command[]; readonly isLoading: boolean } {
  const { data, isLoading } = useQuery({
    queryKey: ["runs", "recent"],
    queryFn: ({ signal }) => request<Page<RunRecord>>("/runs?roots=true&size=100", { signal }),
  });
  const runs = (data?.items ?? []).map(({ treeId, agentId, name, status }) => ({
    name: name ?? treeId,
    detail: `${agentId}, ${status}`,
    target: `/runs/${segment(treeId)}`,
  }));
  const known = useAgents();
  const agents = (known.data ?? []).map((agent) => ({
    name: agent.name,
    detail: `agent, ${agent.model ?? "no model"}`,
    target: `/agents/${segment(agent.name)}`,
  }));
  return { named: [...runs, ...agents], isLoading: isLoading || known.isLoading };
}

/** A list of pages and actions, filtered by the typed text. */
export function CommandBar({
  onClose,
  onKeys,
}: {
  readonly onClose: () => void;
  readonly onKeys: () => void;
}): ReactNode {
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  // Whether Enter was pressed before the places were loaded.
  const [isAwaited, setAwaited] = useState(false);
  const { named, isLoading } = useNamedPlaces();
  const keys: Command = { name: "Keys", detail: "all keys, and the switch for them", target: onKeys };
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...fixed, keys, ...named].filter((each) => matches(each, words)).slice(0, maxShown);
  const chosen = found[at];
  const open = ({ target }: Command): void => {
    onClose();
    if (typeof target === "string") go(target);
    else target();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    }
    if (event.key !== "Enter") return;
    if (chosen) open(chosen);
    else setAwaited(isLoading);
  };
  useEffect(() => {
    if (!isAwaited || (isLoading && !chosen)) return;
    setAwaited(false);
    if (chosen) open(chosen);
  });
  return (
    <Modal title="Search or run a command" onClose={onClose} wide>
      <input
        role="combobox"
        aria-label="Search or run a command"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen ? `${list}-${at}` : undefined}
        placeholder="A page, an action, an agent, or the name, id or status of a run"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
          setAwaited(false);
        }}
        onKeyDown={press}
      />
      <CommandList id={list} commands={found} at={at} onOpen={open} />
      {found.length === 0 && <p className="sub">{isLoading ? "Loading…" : "No match."}</p>}
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
          // Runs may have equal names.
          key={typeof command.target === "string" ? command.target : command.name}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onClick={() => onOpen(command)}
        >
          <b>
            <InertText text={command.name} />
          </b>
          <span className="muted">
            <InertText text={command.detail} />
          </span>
        </li>
      ))}
    </ul>
  );
}
