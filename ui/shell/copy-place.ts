import { useEffect } from "react";
import { pageBase } from "../api/http.ts";
import { notify } from "../parts/toast.tsx";

/** Quotes a value for a shell, unless it needs no quotes. */
const quote = (value: string): string =>
  /^[\w.:~@/-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;

const commands: Readonly<Record<string, (id: string | null) => string>> = {
  runs: (id) => (id === null ? "reeve runs" : `reeve why ${quote(id)}`),
  approvals: (id) => (id === null ? "reeve approvals" : `reeve approve ${quote(id)}`),
  sessions: () => "reeve sessions",
  audit: () => "reeve audit verify",
  agents: () => "reeve agents",
  play: (id) => (id === null ? "reeve agents" : `reeve chat ${quote(id)}`),
};

/** Returns the terminal command that shows the same as the page. Null if there is none. */
function commandOf(path: string): string | null {
  const [place = "", id] = path.slice(pageBase.length + 1).split("/");
  return commands[place]?.(id === undefined || id === "" ? null : decodeURIComponent(id)) ?? null;
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied ${what}: ${text}`);
  } catch {
    notify(`The browser does not allow copying. ${text}`);
  }
}

/** Copies the address of the place that is shown. */
export const copyLink = (): Promise<void> => copy(location.href, "the link");

/** Copies the command for the place that is shown. */
export async function copyCommand(): Promise<void> {
  const command = commandOf(location.pathname);
  if (command === null) notify("No command shows this page");
  else await copy(command, "the command");
}

/** `⌘⇧C` or `Ctrl ⇧C` copies the link, `⌥C` the command. They have a modifier, so they work in text fields, too. */
export function useCopyKeys(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      // By key position: with ⌥ a Mac produces another letter.
      if (event.code !== "KeyC") return;
      const { altKey, metaKey, ctrlKey, shiftKey } = event;
      const isLink = shiftKey && (metaKey || ctrlKey) && !altKey;
      const isCommand = altKey && !metaKey && !ctrlKey && !shiftKey;
      if (!isLink && !isCommand) return;
      event.preventDefault();
      void (isLink ? copyLink() : copyCommand());
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
