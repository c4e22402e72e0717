import { type ReactNode, useEffect, useId, useRef } from "react";

/** A native dialog, modal while it is mounted. Escape closes it, and the focus returns to where it was. */
export function Modal({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={wide ? "dlg wide" : "dlg"}
      aria-labelledby={heading}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}
