import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import { type RestateServer, restateServer } from "#engines/restate";
import { errorMessage } from "#base";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { Builds, type BuildsState } from "./builds.ts";
import { DevFolder } from "./dev-folder.ts";
import { dashboardOf, type DevScreen, devScreen } from "./dev-screen.ts";
import { openBrowser } from "./open-browser.ts";
import { Proxy } from "./proxy.ts";
import { watchFiles } from "./watch-files.ts";

/** Options of `reeve dev`. */
export interface DevOptions {
  readonly port: number;
  readonly json: boolean;
}

/** Earlier builds that are searched for unfinished runs. */
const mostEarlier = 20;

/** The builds before there are any. */
const nothing = { url: null, failure: null };

/** Runs everything on this machine until Ctrl-C. */
export async function dev(terminal: Terminal, given: string, options: DevOptions): Promise<number> {
  const file = resolve(terminal.folder, given);
  if (!existsSync(file))
    throw new CliError(`file ${given} does not exist`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
      hint: "reeve init",
    });
  const folder = new DevFolder(terminal.folder);
  folder.claim();
  const screen = devScreen(terminal, options.json);
  const stopped = interrupts(terminal);
  let builds: Builds | null = null;
  const proxy = await Proxy.listen(options.port, () => builds ?? nothing);
  const unlisten = listenForKeys(terminal, { stopped, open: () => openPage(proxy.url, screen) });
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
    unlisten();
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

/** Opens the dashboard, or prints its address. */
function openPage(url: string, screen: DevScreen): void {
  const address = dashboardOf(url);
  openBrowser(address).catch((error: unknown) =>
    screen.log(`no browser was opened (${errorMessage(error)}): open ${address} yourself`),
  );
}

/** Handles keys: `o` opens the dashboard, Ctrl-C stops. In raw mode, the terminal sends no signals. */
function listenForKeys(
  terminal: Terminal,
  { stopped, open }: { readonly stopped: Interrupts; readonly open: () => void },
): () => void {
  if (!terminal.out.isTTY) return () => undefined;
  return terminal.onTyped((typed) => {
    for (const key of typed) {
      if (key === "o") open();
      if (key === "\u0003") stopped.interrupt();
    }
  });
}

interface Interrupts {
  interrupt(): void;
  readonly once: Promise<void>;
  readonly again: Promise<void>;
  release(): void;
}

/** The first asks for an end, the second demands it. */
function interrupts(terminal: Terminal): Interrupts {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  const interrupt = (): void => {
    count += 1;
    (count === 1 ? first : second).resolve();
  };
  const release = terminal.onInterrupt(interrupt);
  return { once: first.promise, again: second.promise, interrupt, release };
}
