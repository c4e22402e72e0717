import { type Paint, paintFor } from "./text/paint.ts";
import type { Screen } from "./views/screen.ts";

/** What a command writes to, and knows of where it runs. */
export interface Terminal {
  readonly out: Output;
  readonly errors: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** Calls for each Ctrl-C, or SIGTERM, from now on instead of ending the process; returns what ends that. */
  onInterrupt(call: () => void): () => void;
  /** Calls with what is typed, as it is typed and unseen, Ctrl-C included; returns what ends that. */
  onTyped(call: (text: string) => void): () => void;
}

/** A stream of text, perhaps a screen. */
export interface Output {
  write(text: string): void;
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
}

const endings = ["SIGINT", "SIGTERM"] as const;

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    out: outputOf(process.stdout),
    errors: outputOf(process.stderr),
    environment: process.env,
    folder: process.cwd(),
    onInterrupt: (call) => {
      for (const signal of endings) process.on(signal, call);
      return () => {
        for (const signal of endings) process.off(signal, call);
      };
    },
    onTyped: (call) => listen(process.stdin, call),
  };
}

/** Where there is no keyboard, nobody types. */
function listen(keyboard: NodeJS.ReadStream, call: (text: string) => void): () => void {
  if (!keyboard.isTTY) return () => undefined;
  keyboard.setEncoding("utf8").setRawMode(true).on("data", call).resume();
  return () => void keyboard.off("data", call).setRawMode(false).pause();
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write: (text) => void stream.write(text),
    get isTTY() {
      return stream.isTTY ?? false;
    },
    get columns() {
      return stream.columns ?? 80;
    },
    get rows() {
      return stream.rows ?? 24;
    },
  };
}

/** How text is written there. */
export function paintOf({ environment }: Terminal, output: Output): Paint {
  return paintFor(output.isTTY, environment);
}

/** Where views are drawn. Text that goes to a file or a pipe is wider than one that must fit. */
export function screenOf(terminal: Terminal): Screen {
  const { out } = terminal;
  return { width: out.isTTY ? out.columns : 140, paint: paintOf(terminal, out), now: Date.now() };
}
