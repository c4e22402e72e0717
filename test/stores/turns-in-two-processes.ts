import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SessionId } from "reeve";
import { Session, type SessionEntry, type Store } from "reeve/store";
import { expect } from "vitest";
import { isFull, patienceMs } from "../effort.ts";

/*
 * Two processes take turns in the same conversations, each with a local engine that does not know of the other. They are
 * frozen for longer than the grace of a cancelled run, and killed and replaced. Afterwards each conversation is compared
 * with what was reported about its turns.
 */

/** A turn that a process is asked for. */
export interface AskedTurn {
  readonly number: number;
  readonly session: string;
  readonly isCancelled: boolean;
}

/** The end of a turn. `refused`: it could not be started. */
export interface TurnReport {
  readonly number: number;
  readonly status: "completed" | "landed" | "failed" | "cancelled" | "refused";
  /** The code of its error. Null: none. */
  readonly code: string | null;
}

interface Effort {
  readonly turns: number;
  readonly conversations: number;
  readonly freezes: number;
  readonly kills: number;
}

export const turnEffort: Effort = isFull
  ? { turns: 1_000, conversations: 20, freezes: 50, kills: 10 }
  : { turns: 60, conversations: 3, freezes: 3, kills: 1 };
/** Milliseconds that the test may take. */
export const turnTimeoutMs = isFull ? 900_000 : 120_000;

/** A freeze takes at least so long: twice the grace of a cancelled run. */
const freezeMs = 400;
/** A frozen process may hold the lock of a database that has one writer, so the other one may make no progress. */
const longestFreezeMs = 2_000;
/** Number of turns that a process has in hand. */
const inHand = 4;

/** The work of a process. */
interface TakerWork {
  /** Returns the next turn. Null: there is none. */
  readonly ask: () => AskedTurn | null;
  readonly onReport: (report: TurnReport) => void;
  /** Called if the process ends by itself. */
  readonly onEnd: (code: number) => void;
}

/** One of the processes. A killed one is replaced. */
class Taker {
  readonly #where: string;
  readonly #work: TakerWork;
  #child: ChildProcess;
  #open = 0;
  reports = 0;

  constructor(where: string, work: TakerWork) {
    this.#where = where;
    this.#work = work;
    this.#child = this.#start();
  }

  get isDone(): boolean {
    return this.#open === 0;
  }

  #start(): ChildProcess {
    const path = fileURLToPath(new URL("fixtures/take-turns.ts", import.meta.url));
    const child = fork(path, [this.#where], { execArgv: ["--conditions=reeve-source"] });
    child.on("exit", (code) => {
      if (code !== null) this.#work.onEnd(code);
    });
    child.on("message", (message: "ready" | TurnReport) => {
      if (child !== this.#child) return;
      if (message === "ready") {
        for (let n = 0; n < inHand; n += 1) this.#next();
        return;
      }
      this.#open -= 1;
      this.reports += 1;
      this.#work.onReport(message);
      this.#next();
    });
    return child;
  }

  #next(): void {
    const asked = this.#work.ask();
    if (!asked) return;
    this.#open += 1;
    this.#child.send(asked);
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Kills the process, whatever it is doing, and starts another. The turns it was working on are never reported. */
  replace(): void {
    this.#child.kill("SIGKILL");
    this.#open = 0;
    this.#child = this.#start();
  }

  end(): void {
    this.#child.kill("SIGKILL");
  }
}

/** Takes the turns, with the faults, and checks every conversation. */
export async function expectTurnsKept(
  store: Store,
  where: { readonly sqlite: string } | { readonly postgres: string },
): Promise<void> {
  const { turns, conversations, freezes, kills } = turnEffort;
  const asked: AskedTurn[] = [];
  const reports = new Map<number, TurnReport>();
  let hasFaults = true;
  const ask = (): AskedTurn | null => {
    const number = asked.length;
    // The faults need turns that they meet.
    if (number >= turns && !hasFaults) return null;
    const turn = { number, session: `talk-${number % conversations}`, isCancelled: number % 7 === 3 };
    asked.push(turn);
    return turn;
  };
  const broken = Promise.withResolvers<never>();
  const takers = [0, 1].map(
    () =>
      new Taker(JSON.stringify(where), {
        ask,
        onReport: (report) => reports.set(report.number, report),
        onEnd: (code) => broken.reject(new Error(`a process ended with ${code}`)),
      }),
  );
  const work = async (): Promise<void> => {
    const share = Math.max(1, Math.floor(turns / (freezes + kills + 1)));
    for (let fault = 0; fault < freezes + kills; fault += 1) {
      const [taker, other] = fault % 2 === 0 ? takers : takers.toReversed();
      if (!taker || !other) throw new Error("there are two processes");
      const [before, ofBoth] = [taker.reports, reports.size];
      // The process is at work, also if it was replaced.
      await waitUntil(() => taker.reports > before && reports.size >= Math.min(ofBoth + share, turns));
      const perKill = Math.ceil((freezes + kills) / kills);
      if (fault % perKill === perKill - 1) taker.replace();
      else await freeze(taker, other);
    }
    hasFaults = false;
    await waitUntil(() => asked.length >= turns && takers.every(({ isDone }) => isDone));
  };
  try {
    await Promise.race([work(), broken.promise]);
  } finally {
    for (const taker of takers) taker.end();
  }
  await expectKept(store, { asked, reports });
}

/** Freezes a process for longer than a grace, and until the other one has ended turns meanwhile. */
async function freeze(taker: Taker, other: Taker): Promise<void> {
  const [since, seen] = [performance.now(), other.reports];
  taker.freeze();
  try {
    await waitUntil(() => {
      const tookMs = performance.now() - since;
      return tookMs > freezeMs && (other.reports >= seen + 3 || tookMs > longestFreezeMs);
    });
  } finally {
    taker.thaw();
  }
}

/** The processes may be slow, but each change comes within the patience of one condition. */
async function waitUntil(isTrue: () => boolean): Promise<void> {
  const timeout = isFull ? 10 * patienceMs() : patienceMs();
  await expect.poll(isTrue, { interval: 20, timeout }).toBe(true);
}

/** Compares the conversations with the reports about their turns. */
async function expectKept(
  store: Store,
  {
    asked,
    reports,
  }: { readonly asked: readonly AskedTurn[]; readonly reports: ReadonlyMap<number, TurnReport> },
): Promise<void> {
  const kept = new Map<number, string>();
  for (const id of new Set(asked.map(({ session }) => session))) {
    const session = new Session(store.sessions, { tenantId: null }, { id: SessionId.of(id), userId: null });
    for (const [number, form] of await turnsOf(session)) {
      expect(kept.has(number), `turn ${number} is in its conversation once`).toBe(false);
      expect(asked[number]?.session, `turn ${number} is in its own conversation`).toBe(id);
      kept.set(number, form);
    }
  }
  const wrong = asked.flatMap(({ number }) => {
    const report = reports.get(number);
    const form = kept.get(number) ?? "none";
    return isRight(report, form)
      ? []
      : [`turn ${number}: ${JSON.stringify(report)}, in its conversation: ${form}`];
  });
  expect(wrong).toEqual([]);
  const statuses = [...reports.values()].map(({ status }) => status);
  // Otherwise the two processes never competed for a turn.
  for (const status of ["completed", "failed"] as const) expect(statuses).toContain(status);
}

/** A turn that was answered, and one that was stopped: its messages up to then, and its end. */
const whole = "user assistant tool assistant";
const stopped = /^(user( assistant( tool( assistant)?)?)? )?turn-end$/;

/** Whether a report agrees with what the conversation has of a turn. Without a report, its process was killed. */
function isRight(report: TurnReport | undefined, form: string): boolean {
  if (report === undefined || report.status === "refused")
    return form === "none" || form === whole || stopped.test(form);
  if (report.status === "failed") return report.code === "turn-lost" && form === "none";
  if (report.status === "cancelled") return form === "none" || form === whole || stopped.test(form);
  return form === whole;
}

/** Returns the turns on the main path, oldest first: the number of each, and its entries in order. */
async function turnsOf(session: Session): Promise<readonly (readonly [number, string])[]> {
  const entries: SessionEntry[] = [];
  for await (const entry of session.path()) entries.unshift(entry);
  const turns: { readonly number: number; readonly roles: string[] }[] = [];
  for (const entry of entries) {
    const number = Number(/^turn-(\d+)~0\./.exec(entry.id)?.[1]);
    const role =
      entry.type === "message" ? entry.message.role : entry.type === "custom" ? entry.kind : entry.type;
    const last = turns.at(-1);
    if (last?.number === number) last.roles.push(role);
    else turns.push({ number, roles: [role] });
  }
  return turns.map(({ number, roles }) => [number, roles.join(" ")]);
}
