import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** A key as it is printed on a keyboard. */
export function Kbd({ children }: { readonly children: string }): ReactNode {
  return <kbd className="kbd">{children}</kbd>;
}

/** An action that is visible, with its key. */
export interface ButtonProps {
  readonly label: string;
  readonly onPress: () => void;
  readonly icon?: IconName;
  /** The key that does the same, as printed. */
  readonly hint?: string;
  readonly tone?: "primary" | "danger" | "plain";
  readonly size?: "small" | "normal" | "large";
  /** The reason why the reader may not do it. Default: they may. */
  readonly locked?: string | null;
}

const tones = { primary: "pri", danger: "danger", plain: "" } as const;
const sizes = { small: "sm", normal: "", large: "lg" } as const;

/** A button. A locked one stays in place, states its reason, and does nothing. */
export function Button(props: ButtonProps): ReactNode {
  const { label, onPress, icon, hint, tone = "plain", size = "normal", locked = null } = props;
  const shownIcon = locked === null ? icon : "lock";
  return (
    <button
      type="button"
      className={["btn", tones[tone], sizes[size]].filter(Boolean).join(" ")}
      aria-disabled={locked !== null}
      title={locked ?? undefined}
      onClick={locked === null ? onPress : undefined}
    >
      {shownIcon && <Icon name={shownIcon} />}
      {label}
      {hint !== undefined && (
        <span className="kbd" aria-hidden="true">
          {hint}
        </span>
      )}
    </button>
  );
}
