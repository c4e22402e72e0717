import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "#base";
import { BuildProcess } from "./build-process.ts";
import type { WorkerSettings } from "./worker-settings.ts";

/** Dependencies of `Builds`. */
export interface BuildsDeps {
  /** All settings except name and port. */
  readonly settings: Omit<WorkerSettings, "build" | "port">;
  freePort(): Promise<number>;
  /** Names of builds of an earlier `reeve dev`, whose runs continue here. */
  readonly earlier: readonly string[];
  /** Called with every new name before it is used. */
  readonly remember: (build: string) => void;
  readonly onChange: (state: BuildsState) => void;
  readonly onLog: (words: string) => void;
}

/** The displayed state of the builds. */
export interface BuildsState {
  readonly number: number;
  readonly phase: "loading" | "ready" | "restarting";
  /** When it was loaded, or started again. */
  readonly since: number;
  readonly agents: readonly string[];
  readonly alive: number;
  /** The process of the newest build; null while there is none. */
  readonly pid: number | null;
  /** Why the newest code does not run; the build before still does. */
  readonly failure: string | null;
}

/** Builds kept alive at most, unless more of them have runs that no other build can continue. */
const keptAlive = 3;
const mostAlive = 10;
const restart = { firstMs: 200, maxMs: 5_000 };

/** The live builds: the newest one serves, older ones finish their runs. */
export class Builds {
  readonly #host: BuildsDeps;
  #alive: readonly BuildProcess[] = [];
  #state: BuildsState = {
    number: 0,
    phase: "loading",
    since: 0,
    agents: [],
    alive: 0,
    pid: null,
    failure: null,
  };
  /** The build that is loading and has started no run yet. */
  #next: BuildProcess | null = null;
  #isClosing = false;
  #isBusy = false;
  #isStale = false;

  constructor(host: BuildsDeps) {
    this.#host = host;
  }

  /** Address of the newest build's server. Null if there is none. */
  get url(): string | null {
    return this.#alive.at(-1)?.ready?.url ?? null;
  }

  /** The reason why the newest code does not load; null: it does. */
  get failure(): string | null {
    return this.#state.failure;
  }

  /** Loads the agents as they are now. On failure, nothing changes. */
  async load(): Promise<void> {
    this.#isStale = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#isStale && !this.#isClosing) {
        this.#isStale = false;
        await this.#loadOnce();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /** Drains every build, and waits until all have ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#next?.kill();
    await Promise.all(this.#alive.map((build) => build.drain()));
  }

  /** Ends every build without asking. */
  kill(): void {
    this.#isClosing = true;
    this.#next?.kill();
    for (const build of this.#alive) build.kill();
  }

  async #loadOnce(): Promise<void> {
    const number = this.#state.number + 1;
    this.#change({ phase: "loading" });
    const name = `dev-${Date.now().toString(36)}-${number}`;
    this.#host.remember(name);
    const settings = { ...this.#host.settings, build: name, port: await this.#host.freePort() };
    const build = new BuildProcess(settings, this.#host.onLog);
    this.#next = build;
    const loaded = await build.waitForLoad();
    this.#next = null;
    if (this.#isClosing) return build.drain();
    if (!loaded.ok) return this.#change({ phase: "ready", failure: loaded.words });
    if (this.#alive.length === 0) build.adopt(this.#host.earlier);
    // Runs that another build refused because the code had changed may fit this build.
    build.adopt(
      this.#alive.map(({ settings: { build: older } }) => older),
      "refused",
    );
    this.#alive = [...this.#alive, build];
    void this.#restartWhenGone(build);
    this.#change({ number, phase: "ready", since: Date.now(), agents: loaded.agents, failure: null });
    await this.#retire();
  }

  /** Ends builds from the oldest on, until few are alive. Their runs go on with a build of the same program. */
  async #retire(): Promise<void> {
    for (const build of this.#alive.slice(0, -1)) {
      if (this.#isClosing || this.#alive.length <= keptAlive) return;
      if (await this.#isNeeded(build)) continue;
      this.#alive = this.#alive.filter((each) => each !== build);
      await build.drain();
      this.#heirOf(build)?.adopt([build.settings.build]);
      this.#change({});
    }
  }

  /** Whether a build has runs that no other build can go on with. */
  async #isNeeded(build: BuildProcess): Promise<boolean> {
    if (this.#alive.length > mostAlive || this.#sameProgram(build)) return false;
    const runs = await this.#alive.at(-1)?.count(build.settings.build);
    return runs !== 0;
  }

  /** The build that goes on with the runs of one that ends. A build of another program refuses them, and they wait. */
  #heirOf(build: BuildProcess): BuildProcess | undefined {
    return this.#sameProgram(build) ?? this.#alive.at(-1);
  }

  /** The newest other build that is alive and has the same program. */
  #sameProgram(build: BuildProcess): BuildProcess | undefined {
    return this.#alive.findLast(
      (each) => each !== build && each.ready !== null && each.ready.program === build.ready?.program,
    );
  }

  /** The newest build ended unexpectedly. It is started again under its name and resumes its runs. */
  async #restartWhenGone(build: BuildProcess): Promise<void> {
    let gone = build;
    for (let failures = 0; ; failures++) {
      await gone.exited;
      if (this.#isClosing || !this.#alive.includes(gone)) return;
      if (gone !== this.#alive.at(-1)) return this.#replace(gone);
      this.#change({ phase: "restarting" });
      await wait(backoffMs(failures, restart));
      if (this.#isClosing) return;
      const next = new BuildProcess(gone.settings, this.#host.onLog);
      const before = gone;
      this.#alive = this.#alive.map((each) => (each === before ? next : each));
      gone = next;
      const loaded = await next.waitForLoad();
      if (!loaded.ok) continue;
      failures = 0;
      this.#change({ phase: "ready", since: Date.now() });
    }
  }

  /** The code of an older build is no longer there to be loaded: another build takes over its runs. */
  #replace(gone: BuildProcess): void {
    this.#alive = this.#alive.filter((each) => each !== gone);
    this.#heirOf(gone)?.adopt([gone.settings.build]);
    this.#change({});
  }

  #change(change: Partial<BuildsState>): void {
    const pid = this.#alive.at(-1)?.pid ?? null;
    this.#state = { ...this.#state, ...change, alive: this.#alive.length, pid };
    if (change.failure !== undefined || change.phase === "ready")
      this.#alive.at(-1)?.showFailure(this.#state.failure);
    this.#host.onChange(this.#state);
  }
}
