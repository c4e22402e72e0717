import { createInterface } from "node:readline";

/** Reads text line by line. */
export interface LineReader {
  /** The next line; null: the input has ended, or its user has pressed Ctrl-C. */
  read(prompt: string): Promise<string | null>;
  close(): void;
}

/** Lines that a user types: with a prompt, and the lines before by the arrow keys. */
export function typedLines(input: NodeJS.ReadStream, output: NodeJS.WriteStream): LineReader {
  let history: string[] = [];
  return {
    // Creates one reader per line, so that between lines Ctrl-C is a signal again.
    read: (prompt) =>
      new Promise((resolve) => {
        const lines = createInterface({ input, output, prompt, history, terminal: true });
        let line: string | null = null;
        lines.on("history", (known) => (history = known));
        lines.once("SIGINT", () => lines.close());
        lines.once("line", (text) => {
          line = text;
          lines.close();
        });
        lines.once("close", () => {
          if (line === null) output.write("\n");
          resolve(line);
        });
        lines.prompt();
      }),
    close: () => undefined,
  };
}

/** Lines of a pipe or a file. */
export function pipedLines(input: NodeJS.ReadableStream): LineReader {
  const lines = createInterface({ input, terminal: false });
  const items = lines[Symbol.asyncIterator]();
  return {
    read: async () => {
      const next = await items.next();
      return next.done ? null : next.value;
    },
    close: () => lines.close(),
  };
}
