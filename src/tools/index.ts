export { askHuman } from "./ask-human.ts";
export { fetchTool, type FetchToolOptions } from "./fetch-tool.ts";
export { files, type FilesOptions, type FileTools } from "./files/files.ts";
export { bubblewrap, type BubblewrapOptions } from "./shell/bubblewrap.ts";
export type { Sandbox, SandboxCommand, SandboxLimits, SandboxResult } from "./shell/sandbox.ts";
export { shell, type ShellOptions } from "./shell/shell.ts";
