import type { ReactNode } from "react";
import { useSearchParams } from "wouter";
import type { ApprovalQuery } from "../api/queries.ts";
import { InertText } from "../parts/inert-text.tsx";

const names = ["agent", "tool", "risk", "user"] as const;

/** The filter in the address, and a function that changes it. */
export function useApprovalFilter(): {
  readonly query: ApprovalQuery;
  readonly change: (name: string, value: string) => void;
} {
  const [params, setParams] = useSearchParams();
  const set = names.flatMap((name) => {
    const value = params.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  const change = (name: string, value: string): void =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  return { query: Object.fromEntries(set), change };
}

/** The filter of the list of questions: by agent, tool, risk and user, on the server. */
export function ApprovalFilter({
  query,
  onChange,
}: {
  readonly query: ApprovalQuery;
  readonly onChange: (name: string, value: string) => void;
}): ReactNode {
  const set = names.filter((name) => query[name] !== undefined);
  return (
    <details className="approval-filter" open={set.length > 0}>
      <summary>
        Filter
        {set.map((name) => (
          <span className="pill" key={name}>
            {name} <InertText text={query[name] ?? ""} />
          </span>
        ))}
      </summary>
      <div className="fields">
        {names.map((name) => (
          <FilterField key={name} name={name} value={query[name] ?? ""} onChange={onChange} />
        ))}
      </div>
    </details>
  );
}

function FilterField({
  name,
  value,
  onChange,
}: {
  readonly name: (typeof names)[number];
  readonly value: string;
  readonly onChange: (name: string, value: string) => void;
}): ReactNode {
  if (name === "risk")
    return (
      <label>
        Risk
        <select value={value} onChange={({ target }) => onChange(name, target.value)}>
          <option value="">any</option>
          <option>safe</option>
          <option>high</option>
          <option>critical</option>
        </select>
      </label>
    );
  const label = { agent: "Agent", tool: "Tool", user: "User" }[name];
  return (
    <label>
      {label}
      <input
        key={value}
        defaultValue={value}
        placeholder="any"
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter") onChange(name, currentTarget.value.trim());
        }}
        onBlur={({ currentTarget }) => {
          if (currentTarget.value.trim() !== value) onChange(name, currentTarget.value.trim());
        }}
      />
    </label>
  );
}
