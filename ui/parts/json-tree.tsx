import { type ReactNode, useState } from "react";
import { count } from "./amounts.ts";
import { InertText, LongText } from "./inert-text.tsx";

/** Any JSON. */
type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

/** Members that are shown at first, and with each press of the button. */
const membersAtOnce = 100;

interface NodeProps {
  /** Null: it has none, as the whole value. */
  readonly name: string | null;
  readonly value: Value;
  /** Levels below that begin open. */
  readonly open: number;
}

/** A value as a foldable tree. Names and texts are inert, and only open parts are rendered. */
export function JsonTree({
  value,
  open = 2,
}: {
  readonly value: unknown;
  readonly open?: number;
}): ReactNode {
  return (
    <div className="json">
      {/* oxlint-disable-next-line typescript/no-unsafe-type-assertion -- answers of the server are JSON */}
      <JsonNode name={null} value={value as Value} open={open} />
    </div>
  );
}

function JsonNode({ name, value, open }: NodeProps): ReactNode {
  if (typeof value === "object" && value !== null) return <Branch name={name} value={value} open={open} />;
  return (
    <div className="leaf">
      <Name name={name} />
      {typeof value === "string" ? (
        <span className="js">
          <LongText text={JSON.stringify(value)} />
        </span>
      ) : (
        <span className="jn">{String(value)}</span>
      )}
    </div>
  );
}

function Branch({ name, value, open }: NodeProps & { readonly value: object }): ReactNode {
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(membersAtOnce);
  const isList = Array.isArray(value);
  const members: readonly (readonly [string, Value])[] = Object.entries(value);
  const [first, last] = isList ? ["[", "]"] : ["{", "}"];
  const size = `${first}${count(members.length)}${last}`;
  if (members.length === 0)
    return (
      <div className="leaf">
        <Name name={name} />
        {first}
        {last}
      </div>
    );
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span className="muted">{size}</span>
      </summary>
      {isOpen && (
        <div className="members">
          {members.slice(0, shown).map(([key, member]) => (
            <JsonNode key={key} name={isList ? null : key} value={member} open={open - 1} />
          ))}
          {members.length > shown && (
            <button type="button" className="more" onClick={() => setShown(shown + membersAtOnce)}>
              Show more of {count(members.length)}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { readonly name: string | null }): ReactNode {
  if (name === null) return null;
  return (
    <span className="jk">
      <InertText text={name} />:{" "}
    </span>
  );
}
