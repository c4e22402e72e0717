import { type ReactNode, useState } from "react";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { countText } from "../parts/amounts.ts";
import { InertText, toPieces } from "../parts/inert-text.tsx";

/** Longer fields are folded. */
const maxLines = 14;
const maxCharacters = 1_600;

/** A field of the arguments, as text, and where it is folded. */
export interface ArgumentField {
  readonly name: string;
  readonly text: string;
  /** The characters that are shown while it is folded. */
  readonly shown: number;
  /** Lines that are not shown while it is folded; 0: it is short. */
  readonly hiddenLines: number;
}

/** Returns the arguments of a call as fields. Long ones are folded. */
export function toFields(value: Json): readonly ArgumentField[] {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [["value", value] as const];
  return entries.map(([name, each]) => toField(name, textOf(each)));
}

function toField(name: string, text: string): ArgumentField {
  const lines = text.split("\n");
  const head = lines.slice(0, maxLines).join("\n");
  const shown = Math.min(head.length, maxCharacters);
  const hiddenLines = shown === text.length ? 0 : text.slice(shown).replace(/^\n/, "").split("\n").length;
  return { name, text, shown, hiddenLines };
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** The fields that the reader has unfolded, and the lines that are still hidden. */
export function useFolds(fields: readonly ArgumentField[]): {
  readonly isOpen: (name: string) => boolean;
  readonly unfold: (name: string) => void;
  readonly unfoldAll: () => void;
  readonly hiddenLines: number;
} {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  return {
    isOpen: (name) => open.has(name),
    unfold: (name) => setOpen(new Set([...open, name])),
    unfoldAll: () => setOpen(new Set(fields.map(({ name }) => name))),
    hiddenLines: fields.reduce((sum, { name, hiddenLines }) => sum + (open.has(name) ? 0 : hiddenLines), 0),
  };
}

/** Shows the exact arguments of a call as text. Folded text is counted: a user must not approve hidden content. */
export function ArgumentTable({
  record,
  fields = toFields(record.arguments),
  folds,
}: {
  readonly record: ApprovalRecord;
  readonly fields?: readonly ArgumentField[];
  /** Default: nothing is folded. */
  readonly folds?: ReturnType<typeof useFolds>;
}): ReactNode {
  if (record.withheld)
    return (
      <div className="args">
        <header>
          <b>[content: needs the scope content]</b>
          <span className="muted">Your key may not read the arguments of calls.</span>
        </header>
      </div>
    );
  if (record.arguments === null)
    return (
      <div className="args">
        <header>
          <b>[erased]</b>
          <span className="muted">
            The arguments were erased with the tree&apos;s content. The decision is kept.
          </span>
        </header>
      </div>
    );
  const characters = fields.reduce((sum, { text }) => sum + text.length, 0);
  return (
    <div className="args">
      <header>
        <b>{record.decision === null ? "Exactly this will be sent" : "Exactly this was requested"}</b>
        <span className="muted">
          {countText(fields.length, "field")}, {countText(characters, "character")}
        </span>
        <span className="mono muted hash">{record.hash.slice(0, 14)}…</span>
      </header>
      <dl className="kv">
        {fields.map((field) => (
          <FieldRow
            key={field.name}
            field={field}
            isOpen={folds?.isOpen(field.name) ?? true}
            onUnfold={() => folds?.unfold(field.name)}
          />
        ))}
      </dl>
    </div>
  );
}

function FieldRow({
  field: { name, text, shown, hiddenLines },
  isOpen,
  onUnfold,
}: {
  readonly field: ArgumentField;
  readonly isOpen: boolean;
  readonly onUnfold: () => void;
}): ReactNode {
  // Includes folded text: the user must be warned before approving without reading it.
  const isOdd = toPieces(text).some((piece) => "note" in piece);
  const isFolded = hiddenLines > 0 && !isOpen;
  return (
    <>
      <dt>
        <InertText text={name} />
      </dt>
      <dd className={isOdd ? "odd" : ""}>
        <InertText text={isFolded ? text.slice(0, shown) : text} />
        {isFolded && (
          <button type="button" className="unfold" onClick={onUnfold}>
            Show {countText(hiddenLines, "more line")}
          </button>
        )}
      </dd>
    </>
  );
}
