import type { ReactNode } from "react";

const paths = {
  runs: (
    <>
      <path d="M3 3h4M5 3v10M5 7h6M5 13h6" />
      <circle cx="12.5" cy="7" r="1.5" />
      <circle cx="12.5" cy="13" r="1.5" />
    </>
  ),
  approvals: <path d="M2 9h3.2l1 2h3.6l1-2H14M4 3h8l2 6v4H2V9z" />,
  spend: <path d="M2.5 13.5h11M4.5 11V7.5M8 11V3M11.5 11V5.5" />,
  play: <path d="M5 3.2v9.6l7.5-4.8z" />,
  sessions: <path d="M2.5 3.5h11v7.500h-6l-3 2.500v-2.500h-2z" />,
  audit: (
    <path d="M8 1.800 13.500 4v4c0 3-2.200 5.200-5.500 6.200C4.700 13.200 2.500 11 2.500 8V4zM5.500 8l1.800 1.800L10.700 6.300" />
  ),
  agents: (
    <>
      <circle cx="8" cy="5" r="2.700" />
      <path d="M2.800 14c0-3 2.200-5 5.200-5s5.200 2 5.200 5" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.3 10.3 3.2 3.2" />
    </>
  ),
  send: <path d="M2.5 8 13.5 3l-4 10-2-4z" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  up: <path d="M8 13V3.5M4 7l4-4 4 4" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  warning: <path d="M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.7v.1" />,
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1.2" />
      <path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-1h-8v8h1" />
    </>
  ),
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  keys: <path d="M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.500 7h.1M12 7h.1M5 9.500h6" />,
} as const satisfies Readonly<Record<string, ReactNode>>;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** A decorative icon: the text beside it has the meaning. */
export function Icon({ name, size = 14 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {paths[name]}
    </svg>
  );
}
