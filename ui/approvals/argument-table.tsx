import type { ReactNode } from "react";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { counted } from "../parts/amounts.ts";
import { InertText, toPieces } from "../parts/inert-text.tsx";

function fieldsOf(value: Json): readonly (readonly [name: string, text: string])[] {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [["value", value] as const];
  return entries.map(([name, each]) => [name, textOf(each)]);
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** The exact arguments of a call, as text. Nothing is folded: a person decides on what they saw. */
export function ArgumentTable({ record }: { readonly record: ApprovalRecord }): ReactNode {
  const fields = fieldsOf(record.arguments);
  const characters = fields.reduce((sum, [, text]) => sum + text.length, 0);
  return (
    <div className="args">
      <header>
        <b>Exactly this will be sent</b>
        <span className="muted">
          {counted(fields.length, "field")}, {counted(characters, "character")}
        </span>
        <span className="mono muted hash">{record.hash.slice(0, 14)}…</span>
      </header>
      <dl className="kv">
        {fields.map(([name, text]) => (
          <ArgumentField key={name} name={name} text={text} />
        ))}
      </dl>
    </div>
  );
}

function ArgumentField({ name, text }: { readonly name: string; readonly text: string }): ReactNode {
  const isOdd = toPieces(text).some((piece) => "note" in piece);
  return (
    <>
      <dt>
        <InertText text={name} />
      </dt>
      <dd className={isOdd ? "odd" : ""}>
        <InertText text={text} />
      </dd>
    </>
  );
}
