import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { devEnvironment } from "./dev-environment.ts";
import {
  type ReadyBuild,
  settingsVariable,
  type WorkerNews,
  type WorkerOrder,
  type WorkerSettings,
} from "./worker-settings.ts";

// Beside this file, with the same file extension.
const script = fileURLToPath(
  new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

/** The result of loading a build. */
export type LoadResult =
  | ({ readonly ok: true } & ReadyBuild)
  | { readonly ok: false; readonly words: string };

/** One build of the agents, in its own process. */
export class BuildProcess {
  readonly settings: WorkerSettings;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  /** Null until it serves. */
  ready: ReadyBuild | null = null;

  constructor(settings: WorkerSettings, onLog: (words: string) => void) {
    this.settings = settings;
    this.#child = spawn(process.execPath, [...process.execArgv, script], {
      env: { ...devEnvironment(settings.folder, process.env), [settingsVariable]: JSON.stringify(settings) },
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
  async waitForLoad(): Promise<LoadResult> {
    const news = await Promise.race([this.#news(), this.#exited.then(() => null)]);
    if (news?.type === "ready") {
      this.ready = news;
      return { ...news, ok: true };
    }
    await this.#exited;
    return { ok: false, words: news?.words ?? "its process ended before it was ready" };
  }

  /** Orders the build to take over runs of other builds. */
  adopt(builds: readonly string[], only?: "refused"): void {
    if (builds.length > 0) this.#order({ type: "adopt", builds, ...(only && { only }) });
  }

  /** Orders the build's page to show why newer code does not load. Null: nothing is wrong. */
  showFailure(words: string | null): void {
    this.#order({ type: "failure", words });
  }

  /** Orders the build to count the runs of a build. Null if it ends before it has answered. */
  async count(build: string): Promise<number | null> {
    const counted = new Promise<number>((resolve) => {
      this.#child.on("message", (news: WorkerNews) => {
        if (news.type === "counted" && news.build === build) resolve(news.runs);
      });
    });
    this.#order({ type: "count", build });
    return Promise.race([counted, this.#exited.then(() => null)]);
  }

  /** Lets it finish its steps, and end. */
  async drain(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exited;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #order(order: WorkerOrder): void {
    if (this.#child.connected) this.#child.send(order);
  }

  #news(): Promise<Extract<WorkerNews, { readonly type: "ready" | "failed" }>> {
    return new Promise((resolve) => {
      this.#child.on("message", (news: WorkerNews) => {
        if (news.type === "ready" || news.type === "failed") resolve(news);
      });
    });
  }
}
