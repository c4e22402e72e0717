import { tool } from "#agents";
import { checkDuration, type Tool, type ToolFlow } from "#kernel";
import { realpathSync, statSync } from "node:fs";
import { objectInput } from "../object-input.ts";
import { parseRelativePath } from "../relative-path.ts";
import type { Sandbox, SandboxLimits } from "./sandbox.ts";

/** A tool that runs commands. */
export interface ShellOptions extends Partial<SandboxLimits>, Pick<ToolFlow, "trust" | "sensitivity"> {
  /** The folder that commands can read and write. They see it as `/workspace`. */
  readonly root: string;
  /** Runs the commands: `bubblewrap()`. There is no way without one. */
  readonly sandbox: Sandbox;
  /** Variables that commands see, in addition to PATH, HOME and LANG. No variable of this process is added. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

const defaults: SandboxLimits = {
  timeoutS: 60,
  maxCpuS: 60,
  maxMemoryBytes: 4 * 2 ** 30,
  maxProcesses: 64,
  maxFileBytes: 100_000_000,
  maxTmpBytes: 64 * 2 ** 20,
  maxOutputBytes: 100_000,
};
const baseEnv = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8" };
const maxArguments = 256;
/** Characters of all arguments together. */
const maxArgumentLength = 100_000;
/** Seconds beyond the limit of a command until the call is given up. */
const graceS = 30;
const minDurationS = 0.001;
/** A day: timers cannot count to more than 24. */
const maxDurationS = 86_400;

/**
 * Creates the tool `run_command`, of risk `critical`, by which agents run commands in a sandbox. Results are untrusted
 * and private unless the options say otherwise.
 * @throws TypeError if the folder does not exist, or the sandbox cannot run there; RangeError for a limit.
 */
export function shell({ root, sandbox, env = {}, ...options }: ShellOptions): Tool {
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new TypeError(`root ${JSON.stringify(root)} is not a folder: create it, or give another path`);
  const { trust = "untrusted", sensitivity = "private" } = options;
  const limits = toLimits(options);
  const folder = realpathSync(root);
  sandbox.check(folder);
  return tool<CommandInput>({
    name: "run_command",
    description:
      "Runs a program in a sandbox without network. Files are kept in /workspace only, where it begins. No shell reads the arguments.",
    input: commandInput,
    risk: "critical",
    trust,
    sensitivity,
    // Without network nothing leaves the machine: output of a command remains in the root folder.
    egress: false,
    timeoutS: limits.timeoutS + graceS,
    execute: async ({ argv, cwd }, { signal }) => {
      const names = parseRelativePath(cwd, { hidden: true });
      const { exitCode, stdout, stderr, stopped } = await sandbox.run({
        root: folder,
        argv,
        cwd: names,
        env: { ...baseEnv, ...env },
        limits,
        signal,
      });
      const end = stopped ? `stopped: the command reached ${stopped} (${limits[stopped]})` : null;
      return { exitCode, ...(end !== null && { end }), stdout, stderr };
    },
  });
}

function toLimits(options: Partial<SandboxLimits>): SandboxLimits {
  const limits = { ...defaults };
  for (const name of [
    "maxMemoryBytes",
    "maxProcesses",
    "maxFileBytes",
    "maxTmpBytes",
    "maxOutputBytes",
  ] as const) {
    const value = options[name] ?? defaults[name];
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RangeError(`${name} must be an integer >= 1, got ${value}`);
    limits[name] = value;
  }
  for (const name of ["timeoutS", "maxCpuS"] as const) {
    const value = options[name] ?? defaults[name];
    checkDuration(name, value, { min: minDurationS });
    limits[name] = Math.min(value, maxDurationS);
  }
  return limits;
}

interface CommandInput {
  readonly argv: readonly string[];
  readonly cwd: string;
}

const commandInput = objectInput<CommandInput>({
  properties: {
    argv: {
      type: "array",
      items: { type: "string" },
      minItems: 1,
      maxItems: maxArguments,
      description: 'The program and its arguments, such as ["grep", "-n", "total", "report.md"]',
    },
    cwd: { type: "string", description: "Folder to run in, from /workspace. Default: /workspace itself." },
  },
  required: ["argv"],
  check: ({ argv, cwd = "." }) => {
    if (!Array.isArray(argv) || argv.length === 0 || argv.length > maxArguments)
      return `argv must be a list of 1 to ${maxArguments} strings`;
    const texts = argv.filter((each) => typeof each === "string");
    if (texts.length < argv.length || texts[0] === "")
      return "argv must be a list of strings, the first not empty";
    if (texts.some((each) => each.includes("\0"))) return "argv must not contain a NUL character";
    if (texts.join("").length > maxArgumentLength)
      return `argv must have at most ${maxArgumentLength} characters in total`;
    return typeof cwd === "string" ? { argv: texts, cwd } : "cwd must be a string";
  },
});
