#!/usr/bin/env node
import { findPlatformProblem } from "#kernel";

const problem = findPlatformProblem(process.versions);
if (problem === null) {
  // Loaded only now: the rest may need what an older platform does not have.
  const [{ main }, { processTerminal }] = await Promise.all([
    import("./program.ts"),
    import("./terminal.ts"),
  ]);
  // The reader of a pipe, such as `head`, has closed it. Runs continue without this process.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(0);
    });
  process.exitCode = await main(process.argv.slice(2), processTerminal());
} else {
  process.stderr.write(`reeve: ${problem}\n`);
  process.exitCode = 1;
}
