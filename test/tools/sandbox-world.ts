import { spawn, type ChildProcess } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { Json } from "reeve";
import { bubblewrap, shell, type ShellOptions } from "reeve/tools";
import { callTool } from "./call-tool.ts";
import type { Outside } from "./escapes.ts";

export const isRoot = process.getuid?.() === 0;
/** Commands run as this user where the tests are root, and otherwise as the user of the tests. */
export const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
export const secret = "CANARY-9c3e";

export interface World extends Outside {
  readonly root: string;
}

export interface CommandResult {
  readonly exitCode: number | null;
  readonly end?: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** The folder of everything. Each set-up makes another. */
export let base: string;
const closing: (() => void)[] = [];
let world: World;

export function makeFolder(name: string): string {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  if (isRoot) chownSync(folder, 65_534, 65_534);
  return folder;
}

async function listen(server: Server, where: string | number): Promise<number> {
  server.listen(where);
  await once(server, "listening");
  closing.push(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

export function startProcess(): ChildProcess {
  const child = spawn("/usr/bin/sleep", ["987654"], { stdio: "ignore", ...user });
  closing.push(() => child.kill("SIGKILL"));
  return child;
}

/** Starts everything that attempts aim at. */
export async function setUp(): Promise<World> {
  base = realpathSync(mkdtempSync(join(tmpdir(), "reeve-shell-")));
  chmodSync(base, 0o755);
  process.env["REEVE_CANARY"] = secret;
  const root = makeFolder("root");
  const outside = makeFolder("outside");
  writeFileSync(join(outside, "canary.txt"), secret, { mode: 0o644 });
  copyFileSync("/usr/bin/id", join(root, "setuid-id"));
  chmodSync(join(root, "setuid-id"), 0o4755);
  const udp = createSocket("udp4", (message, { port, address }) => udp.send(message, port, address));
  udp.bind(0);
  await once(udp, "listening");
  closing.push(() => udp.close());
  const socket = join(outside, "socket");
  const abstract = `reeve-${process.pid}`;
  const tcp = await listen(createServer(), 0);
  await listen(createServer(), socket);
  await listen(createServer(), `\0${abstract}`);
  chmodSync(socket, 0o777);
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const address = addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address;
  world = {
    root,
    canary: join(outside, "canary.txt"),
    tcp,
    udp: udp.address().port,
    socket,
    abstract,
    pid: startProcess().pid ?? 0,
    address: address ?? "192.0.2.1",
  };
  return world;
}

/** Ends it. */
export function tearDown(): void {
  delete process.env["REEVE_CANARY"];
  for (const close of closing.splice(0)) close();
  rmSync(base, { recursive: true, force: true });
}

/** Runs a command by the tool, in a root of its own unless the options name one. */
export async function run(
  argv: readonly string[],
  options: Partial<ShellOptions> = {},
  rest: Record<string, Json> = {},
): Promise<CommandResult> {
  const tool = shell({ root: world.root, sandbox: bubblewrap(), ...options });
  return Json.as(Json.of(await callTool(tool, { argv: [...argv], ...rest })));
}

/** Returns the processes whose command line contains a text. */
export const processesOf = (text: string): readonly string[] =>
  readdirSync("/proc").filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
