/** Limits of one command. */
export interface SandboxLimits {
  /** Seconds until the command is ended. Default 60. */
  readonly timeoutS: number;
  /** Seconds of processor time of each process. Default 60. */
  readonly maxCpuS: number;
  /** Bytes of address space of each process. Default 4 GiB. */
  readonly maxMemoryBytes: number;
  /** Processes and threads at the same time. Default 64. */
  readonly maxProcesses: number;
  /** Bytes of one file that is written. Default 100,000,000. */
  readonly maxFileBytes: number;
  /** Bytes of the temporary folder, which is memory. Default 64 MiB. */
  readonly maxTmpBytes: number;
  /** Bytes of stdout and stderr together. The command is ended when it writes more. Default 100,000. */
  readonly maxOutputBytes: number;
}

/** A command to run in a sandbox. */
export interface SandboxCommand {
  /** The folder that the command can read and write. */
  readonly root: string;
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly string[];
  /** The working directory, as names below the root. */
  readonly cwd: readonly string[];
  /** The whole environment: no variable of this process is added. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: SandboxLimits;
  /** Ends the command. */
  readonly signal: AbortSignal;
}

/** The end of a command. */
export interface SandboxResult {
  /** Null where it was ended. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The limit over which it was ended; null: none. */
  readonly stopped: "timeoutS" | "maxOutputBytes" | null;
}

/**
 * A port that runs commands which can reach only one folder: no network, no other writable file, no other process, no
 * variable of this process.
 */
export interface Sandbox {
  /** Checks whether commands can run with this root. @throws TypeError with a remedy if they cannot. */
  check(root: string): void;
  /** Runs a command. No process that it started remains when the promise settles. @throws the reason of `signal`. */
  run(command: SandboxCommand): Promise<SandboxResult>;
}
