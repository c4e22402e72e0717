import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Json } from "reeve";
import { expect, test } from "vitest";
import { expectWithin, isFull } from "../effort.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";
import { ask } from "./ask.ts";
import { type Message, Subscription } from "./sse.ts";

/** Seconds of noise. In `.ci/run` it is only checked that nothing of the quiet tenant is refused or lost. */
const noiseS = isFull ? 60 : 4;
/** Rounds of the quiet tenant, without the noise and spread over its time. */
const rounds = isFull ? 60 : 4;
/**
 * With the noise, an act may take so many times as long. Below some milliseconds it does not count: the pieces of work of others
 * that come between take 5 to 10 each.
 */
const mostTimesAsLong = 5;
const leastMs = 100;
const limitMs = 1_000;

const acts = ["start", "stream", "approve", "webhook", "cancel"] as const;

/** The milliseconds that each act took, in each round. */
type Times = Readonly<Record<(typeof acts)[number], number[]>>;

interface Site {
  readonly url: string;
  readonly quiet: string;
  readonly loud: readonly string[];
}

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

function startFixture(name: string, args: readonly string[]): ChildProcess {
  return fork(fixture(name), args, { execArgv: ["--conditions=reeve-source"] });
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const [message] = await once(child, "message");
  return message;
}

const newTimes = (): Times => ({ start: [], stream: [], approve: [], webhook: [], cancel: [] });

const isQuestion = ({ data }: Message): boolean => data.includes('"type":"approval.requested"');

/** The quiet tenant: it does one thing after the other. */
class QuietTenant {
  readonly #site: Site;
  readonly #receiver: Receiver;

  constructor(site: Site, receiver: Receiver) {
    this.#site = site;
    this.#receiver = receiver;
  }

  async #post(path: string, body: object): Promise<Json> {
    const headers = { authorization: `Bearer ${this.#site.quiet}`, "content-type": "application/json" };
    const reply = await fetch(this.#site.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    const said = await reply.text();
    expect(reply.status, `${path}: ${said}`).toBeLessThan(300);
    return Json.of(JSON.parse(said));
  }

  async #start(agent: string): Promise<string> {
    return Json.as<{ treeId: string }>(await this.#post("/runs", { agent, input: "go" })).treeId;
  }

  /** Starts, watches, approves, gets the webhook, and cancels another tree. */
  async playRound(times: Times): Promise<void> {
    const timed = async <Value>(act: keyof Times, work: Promise<Value>): Promise<Value> => {
      const begin = performance.now();
      const value = await work;
      times[act].push(performance.now() - begin);
      return value;
    };
    const tree = await timed("start", this.#start("writer"));
    const watching = Subscription.to(`${this.#site.url}/runs/${tree}/events`, { key: this.#site.quiet });
    const stream = await timed(
      "stream",
      watching.then(async (opened) => {
        await opened.readUntil((messages) => messages.length > 0);
        return opened;
      }),
    );
    const asked = await stream.readUntil((messages) => messages.some(isQuestion));
    const { approvalId } = Json.as<{ approvalId: string }>(JSON.parse(asked.find(isQuestion)?.data ?? "{}"));
    const received = this.#receiver.accepted.length + 1;
    await timed("approve", this.#post(`/approvals/${encodeURIComponent(approvalId)}/approve`, {}));
    await timed("webhook", this.#receiver.waitForCount(received));
    await stream.drop();
    const other = await this.#start("patient");
    const before = this.#receiver.accepted.length + 1;
    await timed("cancel", this.#post(`/runs/${other}/cancel`, {}));
    await this.#receiver.waitForCount(before);
  }
}

const until = (time: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, time - performance.now())));

/** The time within which 95 of 100 acts end. */
function p95(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? NaN;
}

test(
  "a tenant that asks for all it can get, everywhere, neither stops nor slows another tenant",
  { timeout: 4 * noiseS * 1_000 + 60_000 },
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "reeve-crowded-"));
    const server = startFixture("crowded-site.ts", [join(folder, "store.db")]);
    onTestFinished(async () => {
      server.kill("SIGKILL");
      await rm(folder, { recursive: true });
    });
    const site = Json.as<Site>(Json.of(await messageOf(server)));
    let secret = "";
    await using receiver = await openReceiver({ secrets: () => [secret] });
    const hook = { url: receiver.url, events: ["run.end"], allRuns: false };
    const set = await ask(`${site.url}/webhooks/ops`, "PUT", { key: site.quiet, body: hook });
    ({ secret } = Json.as<{ secret: string }>(set.json));
    const tenant = new QuietTenant(site, receiver);
    const [before, during] = [newTimes(), newTimes()];
    await tenant.playRound(newTimes());
    for (let round = 0; round < rounds; round++) await tenant.playRound(before);

    const loud = startFixture("loud-tenant.ts", [site.url, ...site.loud]);
    onTestFinished(() => void loud.kill("SIGKILL"));
    await messageOf(loud);
    const begin = performance.now();
    for (let round = 0; round < rounds; round++) {
      await until(begin + (round * noiseS * 1_000) / rounds);
      await tenant.playRound(during);
    }
    await until(begin + noiseS * 1_000);
    loud.send("stop");
    const answers = await messageOf(loud);

    process.stdout.write(`the loud tenant: ${JSON.stringify(answers)}\n`);
    for (const act of acts) {
      const [quiet, noisy] = [p95(before[act]), p95(during[act])];
      process.stdout.write(`${act}: p95 ${quiet.toFixed(1)} ms alone, ${noisy.toFixed(1)} ms with noise\n`);
    }
    for (const act of acts) {
      const allowed = Math.min(limitMs, Math.max(leastMs, mostTimesAsLong * p95(before[act])));
      expectWithin(allowed, p95(during[act]), act);
    }
  },
);
