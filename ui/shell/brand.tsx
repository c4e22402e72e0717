import type { ReactNode } from "react";

/** The name and mark of the product. */
export function Brand(): ReactNode {
  return (
    <div className="brand">
      <svg viewBox="0 0 18 18" fill="none" aria-hidden="true">
        <rect x="1" y="1" width="16" height="16" rx="4" fill="var(--ink)" />
        <path
          d="M5 5h3.5M6.700 5v8M6.700 9h5M6.700 13h5"
          stroke="var(--panel)"
          strokeWidth="1.6"
          strokeLinecap="round"
        />
      </svg>
      Reeve
    </div>
  );
}
