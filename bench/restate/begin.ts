// The cost of the gate in a tree with thousands of ended runs, against a tree with none. At most 1.3 times.
import { defaultKeys, Seals } from "#sealing";
import { randomUUID } from "node:crypto";
import { AgentId, ExecutionBudget, Json, RunId, SessionId, SpawnBudget, TreeId } from "reeve";
import { AttemptId, StepId } from "#kernel";
import { MessageId } from "reeve/store";
import { restate, restateServer } from "reeve/engines/restate";
import type { LaunchPolicy } from "../../src/tree/launch-policy.ts";
import type { ArgumentOf, ReplyOf, RunMethod } from "../../src/tree/protocol.ts";
import { defaultBacklogs } from "../../src/tree/state/backlogs.ts";
import { treeObject } from "../../src/tree/tree-object.ts";
import { median, print } from "./measure.ts";

const ended = Number(process.env["BENCH_ENDED"] ?? 2_000);
const calls = Number(process.env["BENCH_CALLS"] ?? 400);
const warmUp = 20;
const atOnce = 25;
const most = 1.3;

await using server = await restateServer();
await using engine = restate({ ...server, namespace: "bench" });
// The runs do nothing: this program reports to the tree for them.
const terms = { version: "1", priority: "normal", budget: null, retention: "none", tools: null } as const;
const agents = { lead: terms, writer: terms };
const policy: LaunchPolicy = {
  approver: "none",
  approvalExpiresS: 60,
  ruleOfTwo: "ask",
  guardrailHooks: [],
  functionLayers: false,
  hasHooks: false,
};
const deps = {
  agents,
  policyOf: () => policy,
  projects: false,
  eraseAfterMs: 30_000,
  backlogs: defaultBacklogs,
};
engine.define({
  build: "bench",
  objects: [treeObject(deps)],
  sinks: [],
  sealing: new Seals(defaultKeys()),
  run: async () => {},
});
await engine.serve({ port: 0 });

/** The fields that each call of a run has. */
type Own = "run" | "continuation" | "reports" | "at";
type CallArgument<Method extends RunMethod> = Omit<ArgumentOf<Method>, Own> &
  Partial<Pick<ArgumentOf<Method>, Own & keyof ArgumentOf<Method>>>;

/** A tree, as its runs see it. */
class Tree {
  readonly #id = TreeId.of(randomUUID());
  readonly #root = RunId.root(this.#id);
  readonly #address = { type: "tree", key: `-/${this.#id}` };
  #begun = 0;

  async open(): Promise<void> {
    const argument: ArgumentOf<"open"> = {
      treeId: this.#id,
      inputHash: "",
      agentId: AgentId.of("lead"),
      secret: "AAAAAAAAAAAAAAAAAAAAAA",
      version: "1",
      statesVersion: true,
      firstMessage: {
        id: MessageId.of(randomUUID()),
        from: { kind: "outside", name: "user" },
        text: "go",
        at: 0,
      },
      scope: { tenantId: null, userId: null, sessionId: SessionId.of("bench"), channel: null, metadata: {} },
      traceId: "0",
      spawn: SpawnBudget.of({ maxAgents: atOnce + 1 }),
      treeBudget: ExecutionBudget.of({}),
      rootBudget: ExecutionBudget.of({}),
      priority: "normal",
      retention: "none",
      prices: {},
      ageingMs: 60_000,
      yieldTimeoutMs: 60_000,
      maxRestarts: 3,
      session: null,
      waits: false,
      caller: null,
      cancelGraceMs: 30_000,
      rules: [],
      at: Date.now(),
    };
    await engine.call(this.#address, "open", Json.of(argument));
    await this.#call("take", {});
  }

  /** Spawns children that end at once, and takes their end messages. */
  async spawn(count: number): Promise<void> {
    const spawned = await Promise.all(Array.from({ length: count }, () => this.#spawn()));
    const end = { status: "completed", stopReason: "answer", output: "done" } as const;
    await Promise.all(spawned.map((run) => this.#call("end", { run, end })));
    let news: { readonly more: boolean };
    do news = await this.#call("take", {});
    while (news.more);
  }

  async #spawn(): Promise<RunId> {
    const options = { asks: false, priority: null, budget: null, retention: null, onFull: "deny" } as const;
    const messageId = MessageId.of(randomUUID());
    const whom = { agentId: AgentId.of("writer"), text: "go", messageId };
    const reply = await this.#call("spawn", { ...whom, ...options, detached: false, tools: null, rules: [] });
    if ("error" in reply) throw new Error(JSON.stringify(reply.error));
    return reply.run;
  }

  /** Requests a model call and settles the previous one. Returns the duration in milliseconds. */
  async begin(): Promise<number> {
    const number = ++this.#begun;
    const tokens = { inputTokens: 10, outputTokens: 10, minOutputTokens: 1 };
    const usage = { input: 10, output: 5 };
    const settle = { step: this.#step(number - 1), attempt: AttemptId.of(String(number - 1)), usage };
    const began = performance.now();
    const { gate } = await this.#call("begin", {
      step: this.#step(number),
      attempt: AttemptId.of(String(number)),
      epoch: { id: "1", order: 1 },
      ask: { ...tokens, price: null, unpriced: "allow", landing: false, model: "instant" },
      rerun: false,
      subject: "instant",
      previous: [],
      reports: [{ number, settle }],
    });
    const took = performance.now() - began;
    if (gate.kind !== "granted") throw new Error(JSON.stringify(gate));
    return took;
  }

  #step(number: number): StepId {
    return StepId.of(this.#root, "llm", number);
  }

  /** Calls a method as the root. */
  async #call<Method extends RunMethod>(
    method: Method,
    argument: CallArgument<Method>,
  ): Promise<ReplyOf<Method>> {
    const own = { run: this.#root, continuation: 0, reports: [], at: Date.now() };
    const answer = await engine.call(this.#address, method, Json.of({ ...own, ...argument }));
    return Json.as<{ readonly reply: ReplyOf<Method> }>(answer).reply;
  }
}

const [empty, full] = [new Tree(), new Tree()];
await Promise.all([empty.open(), full.open()]);
const began = performance.now();
for (let done = 0; done < ended; done += atOnce) await full.spawn(Math.min(atOnce, ended - done));
print([`${ended} spawned and ended`, `${((performance.now() - began) / 1000).toFixed(1)} s`]);

const took = { empty: [] as number[], full: [] as number[] };
for (let call = 0; call < calls + warmUp; call++) {
  const [emptyMs, fullMs] = [await empty.begin(), await full.begin()];
  if (call < warmUp) continue;
  took.empty.push(emptyMs);
  took.full.push(fullMs);
}
const [emptyMs, fullMs] = [median(took.empty), median(took.full)];
print(["tree", "begin ms", "ratio"], ["empty", emptyMs, ""], [`${ended} ended`, fullMs, fullMs / emptyMs]);
if (fullMs / emptyMs > most) process.exitCode = 1;
