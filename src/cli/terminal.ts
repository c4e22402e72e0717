import { execFileSync } from "node:child_process";
import { type LineReader, pipedLines, typedLines } from "./line-reader.ts";
import { type Paint, paintFor } from "./text/paint.ts";
import type { Screen } from "./views/screen.ts";

/** The terminal a command writes to, and its environment. */
export interface Terminal {
  readonly out: Output;
  readonly errors: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** The command that starts this program, such as `npx reeve`. */
  readonly command: string;
  /** Calls for each Ctrl-C, or SIGTERM, from now on instead of ending the process; returns what ends that. */
  onInterrupt(call: () => void): () => void;
  /** Calls back with typed text at once and without echo, Ctrl-C included. Returns a function that stops it. */
  onTyped(call: (text: string) => void): () => void;
  /** Reads lines from the keyboard or, if there is none, from a pipe. */
  lines(): LineReader;
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
    command: commandFor(process.argv[1] ?? "", process.env),
    onInterrupt: (call) => {
      for (const signal of endings) process.on(signal, call);
      return () => {
        for (const signal of endings) process.off(signal, call);
      };
    },
    onTyped: (call) => listenToKeyboard(process.stdin, call),
    lines: () =>
      process.stdin.isTTY && process.stdout.isTTY
        ? typedLines(process.stdin, process.stdout)
        : pipedLines(process.stdin),
  };
}

/** Calls back with each key. Receives none without a keyboard, or while this program is in the background. */
function listenToKeyboard(keyboard: NodeJS.ReadStream, call: (text: string) => void): () => void {
  if (!keyboard.isTTY || !isInForeground()) return () => undefined;
  keyboard.setEncoding("utf8").setRawMode(true).on("data", call).resume();
  return () => void keyboard.off("data", call).setRawMode(false).pause();
}

/** Whether this program is in the foreground. The system stops a background program that reads the keyboard. */
function isInForeground(): boolean {
  try {
    const { pid } = process;
    return execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).includes("+");
  } catch {
    return true;
  }
}

/** Returns the command that starts this program: a package in a project is not on the user's search path. */
export function commandFor(script: string, environment: Terminal["environment"]): string {
  const isLocal = /[\\/]node_modules[\\/]\.bin[\\/]/.test(script) || environment["npm_command"] === "exec";
  if (!isLocal) return "reeve";
  return process.versions["bun"] === undefined ? "npx reeve" : "bunx --bun reeve";
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

/** Returns the style of text for an output. */
export function paintOf({ environment }: Terminal, output: Output): Paint {
  return paintFor(output.isTTY, environment);
}

/** Returns the screen that views are drawn on. Output to a file or pipe may be wider than a terminal. */
export function screenOf(terminal: Terminal): Screen {
  const { out } = terminal;
  return { width: out.isTTY ? out.columns : 140, paint: paintOf(terminal, out), now: Date.now() };
}
