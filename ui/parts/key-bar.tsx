import { memo, type ReactNode } from "react";
import { Kbd } from "./button.tsx";

/** The keys of a screen at its foot, and a figure at the right. */
export function KeyBar({
  keys,
  right = "",
}: {
  readonly keys: readonly (readonly [keys: string, does: string])[];
  readonly right?: string;
}): ReactNode {
  return (
    <div className="keys">
      {keys.map(([names, does]) => (
        <KeyName key={names} names={names} does={does} />
      ))}
      <span className="right">{right}</span>
    </div>
  );
}

const KeyName = memo(function KeyName({
  names,
  does,
}: {
  readonly names: string;
  readonly does: string;
}): ReactNode {
  return (
    <span>
      {names.split(" ").map((name) => (
        <Kbd key={name}>{name}</Kbd>
      ))}
      {does}
    </span>
  );
});
