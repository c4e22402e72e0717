import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import { type RestateServer, restateServer } from "#engines/restate";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { Builds, type BuildsState } from "./builds.ts";
import { DevFolder } from "./dev-folder.ts";
import { type DevScreen, devScreen } from "./dev-screen.ts";
import { Proxy } from "./proxy.ts";
import { watchFiles } from "./watch-files.ts";

/** How `reeve dev` behaves. */
export interface DevOptions {
  readonly port: number;
  readonly json: boolean;
}

/** How many builds are looked at for runs that they have left. */
const mostEarlier = 20;

/** Everything on this machine, until Ctrl-C. */
export async function dev(terminal: Terminal, given: string, options: DevOptions): Promise<number> {
  const file = resolve(terminal.folder, given);
  if (!existsSync(file))
    throw new CliError(`there is no ${given}`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
      hint: "reeve init",
    });
  const folder = new DevFolder(terminal.folder);
  folder.claim();
  const screen = devScreen(terminal, options.json);
  const stopped = interrupts(terminal);
  let builds: Builds | null = null;
  const proxy = await Proxy.listen(options.port, () => builds?.url ?? null);
  try {
    screen.progress("starting Restate …");
    const restate = await restateServer({ baseDir: folder.restate, apart: true });
    try {
      folder.announce({ pid: process.pid, restatePid: restate.pid, url: proxy.url, admin: restate.admin });
      builds = buildsOn({ file, project: terminal.folder, folder, restate, screen, url: proxy.url });
      await serve(builds, file, stopped);
      screen.close();
      terminal.out.write(options.json ? "" : "draining …\n");
      await Promise.race([builds.close(), stopped.again.then(() => builds?.kill())]);
    } finally {
      builds?.kill();
      await restate.stop();
      folder.withdraw();
    }
  } finally {
    screen.close();
    await proxy.close();
    stopped.release();
  }
  return ExitCode.ok;
}

async function serve(builds: Builds, file: string, { once: stopped }: Interrupts): Promise<void> {
  const unwatch = watchFiles(dirname(file), () => void builds.load());
  try {
    await Promise.race([builds.load(), stopped]);
    await stopped;
  } finally {
    unwatch();
  }
}

interface Parts {
  readonly file: string;
  readonly project: string;
  readonly folder: DevFolder;
  readonly restate: RestateServer;
  readonly screen: DevScreen;
  readonly url: string;
}

function buildsOn({ file, project, folder, restate, screen, url }: Parts): Builds {
  const { ingress, admin } = restate;
  const earlier = folder.builds.slice(-mostEarlier);
  folder.forgetBuilds();
  for (const name of earlier) folder.rememberBuild(name);
  return new Builds({
    settings: { file, folder: project, ingress, admin, store: folder.store },
    freePort,
    earlier,
    remember: (name) => folder.rememberBuild(name),
    onChange: (state: BuildsState) => screen.show({ file, url, admin }, state),
    onLog: (words) => screen.log(words),
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

interface Interrupts {
  readonly once: Promise<void>;
  readonly again: Promise<void>;
  release(): void;
}

/** The first asks for an end, the second demands it. */
function interrupts(terminal: Terminal): Interrupts {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  const release = terminal.onInterrupt(() => {
    count += 1;
    (count === 1 ? first : second).resolve();
  });
  return { once: first.promise, again: second.promise, release };
}
