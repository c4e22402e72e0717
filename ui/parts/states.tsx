import { type ReactNode, useEffect, useState } from "react";
import { Button } from "./button.tsx";

/** One sentence, an action, and the equivalent command. */
export function Empty({
  title,
  children,
  command,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly command?: string;
}): ReactNode {
  return (
    <div className="mid">
      <h1>{title}</h1>
      {children}
      {command !== undefined && (
        <div className="cmd-line">
          <code className="cmd">{command}</code>
          <Button
            label="Copy"
            icon="copy"
            onPress={() => void navigator.clipboard.writeText(command).catch(() => undefined)}
          />
        </div>
      )}
    </div>
  );
}

const widths = [72, 54, 81, 63, 47, 70, 58, 66] as const;

/** Placeholder rows. Hidden for 150 ms, in which most answers arrive. */
export function Skeleton({ label }: { readonly label: string }): ReactNode {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" aria-busy="true">
      <span className="for-readers">{label}: loading</span>
      {isLate &&
        widths.map((width) => (
          <div className="skr" key={width} aria-hidden="true">
            <span className="sk" />
            <span className="sk" style={{ width: `${width}%` }} />
            <span className="sk" />
            <span className="sk" />
          </div>
        ))}
    </div>
  );
}

/** A failure with its message, and a button to retry. */
export function Failure({
  title,
  detail,
  onRetry,
}: {
  readonly title: string;
  readonly detail: string;
  readonly onRetry?: () => void;
}): ReactNode {
  return (
    <div className="mid" role="alert">
      <h1>{title}</h1>
      <p>{detail}</p>
      {onRetry && <Button label="Try again" onPress={onRetry} />}
    </div>
  );
}

/** The same page for what does not exist and what belongs to another tenant. */
export function NothingHere(): ReactNode {
  return (
    <div className="mid">
      <h1>Nothing here that your key can see</h1>
      <p>The address may be wrong, or it belongs to another tenant.</p>
    </div>
  );
}
