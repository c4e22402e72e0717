export { ExitCode } from "./exit-code.ts";
export { main } from "./program.ts";
export type { Output, Terminal } from "./terminal.ts";
