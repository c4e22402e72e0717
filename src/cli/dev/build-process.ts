import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  settingsVariable,
  type WorkerNews,
  type WorkerOrder,
  type WorkerSettings,
} from "./worker-settings.ts";

// Beside this file, in whichever form this file is.
const script = fileURLToPath(
  new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

/** How a build came up. */
export type Loaded =
  | { readonly ok: true; readonly url: string; readonly agents: readonly string[] }
  | { readonly ok: false; readonly words: string };

/** One build of the agents, in a process of its own. */
export class BuildProcess {
  readonly settings: WorkerSettings;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  /** Where its server listens; null until it is ready. */
  url: string | null = null;

  constructor(settings: WorkerSettings, onLog: (words: string) => void) {
    this.settings = settings;
    this.#child = spawn(process.execPath, [...process.execArgv, script], {
      env: { ...process.env, [settingsVariable]: JSON.stringify(settings) },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Ctrl-C is for us: we ask it to drain.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => onLog(text.trimEnd()));
    this.#child.on("message", (news: WorkerNews) => {
      if (news.type === "log") onLog(news.words);
    });
    this.#exited = once(this.#child, "exit").then(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Resolves when its process has ended. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /** Waits until it serves, or has failed to. */
  async loaded(): Promise<Loaded> {
    const news = await Promise.race([this.#news(), this.#exited.then(() => null)]);
    if (news?.type === "ready") {
      this.url = news.url;
      return { ok: true, url: news.url, agents: news.agents };
    }
    await this.#exited;
    return { ok: false, words: news?.words ?? "its process ended before it served" };
  }

  /** Has it take over the runs of builds that are gone. */
  adopt(builds: readonly string[]): void {
    const order: WorkerOrder = { type: "adopt", builds };
    if (builds.length > 0 && this.#child.connected) this.#child.send(order);
  }

  /** Lets it finish its steps, and end. */
  async drain(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exited;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #news(): Promise<Exclude<WorkerNews, { readonly type: "log" }>> {
    return new Promise((resolve) => {
      this.#child.on("message", (news: WorkerNews) => {
        if (news.type !== "log") resolve(news);
      });
    });
  }
}
