// A sandbox by bubblewrap (`bwrap`), a system package.
//
// Job: start a command in new namespaces with limits, collect its output, and end it. Neighbours: sandbox is the port;
// seccomp-filter is installed by bwrap; shell makes the tool.
//
// Invariants:
// 1. There is no fallback: without bwrap, prlimit, user namespaces or a filter, making the sandbox throws.
// 2. A command never runs as root. A worker that is root starts it as the owner of the root folder, because the kernel
//    holds root to no number of processes.
// 3. Limits are set inside the new user namespace: there the kernel counts the processes of this command alone.
// 4. A command gets no descriptor of this process. Node closes those that it opens; one that it was itself started with
//    and that has a high number is left open, so the command gets /dev/null in its place.
// 5. Ending bwrap ends the first process of the PID namespace, and with it every process of the command.
import { spawn, spawnSync, type ChildProcess, type StdioOptions } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import type { Sandbox, SandboxCommand, SandboxLimits, SandboxResult } from "./sandbox.ts";
import { createSeccompFilter } from "./seccomp-filter.ts";

/** Settings of {@link bubblewrap}. */
export interface BubblewrapOptions {
  /** Path of bwrap. Default: the first one in PATH. */
  readonly path?: string | undefined;
  /** Further files and folders that commands can read, such as `/opt/node`. Default: only the system's programs. */
  readonly readOnly?: readonly string[] | undefined;
}

/** The path of the root folder for commands. */
const mountPoint = "/workspace";
const prlimit = "/usr/bin/prlimit";
/** Programs and libraries, and the two files of /etc that the loader and Debian's alternatives need. */
const system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"];
/** The user that a command sees itself as. */
const innerUser = "1000";
const maxOpenFiles = 256;
/** The descriptor from which bwrap reads the filter. */
const filterDescriptor = 3;
/** The flag of a descriptor that programs do not inherit, as Linux has it on every architecture. */
const closeOnExec = 0o2_000_000;

/**
 * Runs commands with bubblewrap: no network, no other visible process, the system's programs read-only, the root folder
 * at `/workspace`, an empty temporary folder, a seccomp filter, limits by prlimit.
 * @throws TypeError that names the package to install, if bwrap or prlimit is missing.
 */
export function bubblewrap({ path, readOnly = [] }: BubblewrapOptions = {}): Sandbox {
  const program = path ?? findProgram("bwrap");
  if (program === null || !isExecutable(program))
    throw new TypeError(
      `bubblewrap is not installed (no ${path ?? "bwrap in PATH"}): apt-get install bubblewrap`,
    );
  if (!isExecutable(prlimit))
    throw new TypeError(`${prlimit} is missing (it sets the limits): apt-get install util-linux`);
  const filter = createSeccompFilter(process.arch);
  if (!filter) throw new TypeError(`there is no seccomp filter for ${process.arch}: run on x64 or arm64`);
  const placeholders = countPlaceholders();
  const paths = [...system, ...readOnly];
  const start = (command: Omit<SandboxCommand, "signal">): StartOptions => ({
    program,
    filter,
    placeholders,
    argv: toArguments(command, paths, maxOpenFiles + placeholders),
    user: getOwner(command.root),
    env: command.env,
  });
  return {
    check: (root) =>
      checkStart(start({ root, argv: ["/usr/bin/true"], cwd: [], env: {}, limits: probeLimits })),
    run: (command) => runCommand(start(command), command),
  };
}

interface StartOptions {
  readonly program: string;
  readonly argv: readonly string[];
  readonly filter: Uint8Array;
  /** Number of descriptors behind the filter's one that are /dev/null. */
  readonly placeholders: number;
  readonly user: { readonly uid: number; readonly gid: number } | null;
  readonly env: Readonly<Record<string, string>>;
}

const probeLimits: SandboxLimits = {
  timeoutS: 10,
  maxCpuS: 10,
  maxMemoryBytes: 2 ** 30,
  maxProcesses: 8,
  maxFileBytes: 1_000_000,
  maxTmpBytes: 1_000_000,
  maxOutputBytes: 1_000,
};

/** Returns how many descriptors behind the filter's one must be replaced, up to the last one that would be inherited. */
function countPlaceholders(): number {
  const inherited = readdirSync("/proc/self/fd").map(Number).filter(isInherited);
  return Math.max(filterDescriptor, ...inherited) - filterDescriptor;
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The one by which the list was read is closed by now.
    return false;
  }
}

/** Runs `true` once, because a system may have bwrap and still forbid what it needs. */
function checkStart({ program, argv, user, env }: StartOptions): void {
  // Without the filter, for which there is no descriptor in a synchronous call.
  const unfiltered = argv.slice(2);
  const { status, stderr, error } = spawnSync(program, unfiltered, {
    env,
    ...user,
    encoding: "utf8",
    timeout: 10_000,
  });
  if (status === 0) return;
  const problem = error?.message ?? stderr.trim();
  throw new TypeError(`bubblewrap cannot start a sandbox: ${problem}. It needs unprivileged user namespaces`);
}

/** The user that starts bwrap; null: the one of this process, which is not root. @throws TypeError */
function getOwner(root: string): StartOptions["user"] {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = statSync(root);
  if (uid === 0)
    throw new TypeError(
      `commands must not run as root: chown ${JSON.stringify(root)} to another user, or run the worker as another user`,
    );
  return { uid, gid: gid === 0 ? uid : gid };
}

/** Returns the arguments of bwrap. The first two are about the filter. */
function toArguments(
  { root, argv, cwd, limits }: Omit<SandboxCommand, "signal">,
  paths: readonly string[],
  openFiles: number,
): readonly string[] {
  const { maxProcesses, maxMemoryBytes, maxFileBytes, maxCpuS, maxTmpBytes } = limits;
  const namespaces = ["user", "ipc", "pid", "net", "uts"].map((name) => `--unshare-${name}`);
  const limitOptions = [
    `--nproc=${maxProcesses}`,
    `--as=${maxMemoryBytes}`,
    `--fsize=${maxFileBytes}`,
    `--cpu=${Math.ceil(maxCpuS)}`,
    `--nofile=${openFiles}`,
    "--core=0",
  ];
  const options = [
    ["--seccomp", String(filterDescriptor)],
    namespaces,
    ["--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session"],
    ["--uid", innerUser, "--gid", innerUser, "--hostname", "sandbox"],
    paths.flatMap((each) => ["--ro-bind-try", each, each]),
    ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"],
    ["--size", String(maxTmpBytes), "--tmpfs", "/tmp", "--bind", realpathSync(root), mountPoint],
    ["--remount-ro", "/", "--chdir", join(mountPoint, ...cwd)],
  ];
  return [...options.flat(), "--", prlimit, ...limitOptions, "--", ...argv];
}

/** Starts bwrap, in a process group of its own, which is ended as a whole. */
function startProgram({ program, argv, placeholders, user, env }: StartOptions): ChildProcess {
  // "ignore" would keep an inherited descriptor.
  const nothing = openSync("/dev/null", "r+");
  try {
    const replaced = Array<number>(placeholders).fill(nothing);
    const stdio: StdioOptions = ["ignore", "pipe", "pipe", "pipe", ...replaced];
    return spawn(program, argv, { stdio, detached: true, env, ...user });
  } finally {
    closeSync(nothing);
  }
}

async function runCommand(
  options: StartOptions,
  { limits: { timeoutS, maxOutputBytes }, signal }: SandboxCommand,
): Promise<SandboxResult> {
  signal.throwIfAborted();
  const child = startProgram(options);
  let stopped: SandboxResult["stopped"] = null;
  const stop = (limit: SandboxResult["stopped"]): void => {
    stopped ??= limit;
    kill(child);
  };
  const output = new LimitedOutput(maxOutputBytes, () => stop("maxOutputBytes"));
  const timer = AbortSignal.timeout(timeoutS * 1000);
  const onTimeout = (): void => stop("timeoutS");
  const onAbort = (): void => kill(child);
  timer.addEventListener("abort", onTimeout, { once: true });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const exitCode = await waitForEnd(child, options.filter, output);
    signal.throwIfAborted();
    return {
      exitCode: stopped ? null : exitCode,
      stdout: output.read("stdout"),
      stderr: output.read("stderr"),
      stopped,
    };
  } finally {
    timer.removeEventListener("abort", onTimeout);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Gives the filter to bwrap and collects the output. Resolves with the exit code when all pipes are closed. */
function waitForEnd(child: ChildProcess, filter: Uint8Array, output: LimitedOutput): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
    child.stdout?.on("data", (chunk: Buffer) => output.add("stdout", chunk));
    child.stderr?.on("data", (chunk: Buffer) => output.add("stderr", chunk));
    const pipe = child.stdio[filterDescriptor];
    if (!pipe || !("end" in pipe)) return;
    // The pipe closes early if bwrap fails; its exit code and message report why.
    pipe.on("error", () => undefined);
    pipe.end(filter);
  });
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

type Stream = "stdout" | "stderr";

/** The output of a command, counted as it arrives. */
class LimitedOutput {
  readonly #chunks: Record<Stream, Buffer[]> = { stdout: [], stderr: [] };
  readonly #onFull: () => void;
  #free: number;

  constructor(maxBytes: number, onFull: () => void) {
    this.#free = maxBytes;
    this.#onFull = onFull;
  }

  add(stream: Stream, chunk: Buffer): void {
    if (this.#free > 0) this.#chunks[stream].push(chunk.subarray(0, this.#free));
    this.#free -= chunk.length;
    if (this.#free < 0) this.#onFull();
  }

  read(stream: Stream): string {
    return Buffer.concat(this.#chunks[stream]).toString("utf8");
  }
}

function findProgram(name: string): string | null {
  const folders = (process.env["PATH"] ?? "/usr/bin:/bin").split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
