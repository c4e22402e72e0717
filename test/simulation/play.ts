import { Json, TenantId, type Keys, type NumberedEvent, type RunResult, type Store } from "#kernel";
import type { RunHandle } from "#runtime";
import { sealedStore, storedKeys } from "#sealing";
import { memoryStore } from "reeve/stores/memory";
import { crashPointsOf } from "./crash-points.ts";
import type { Witness } from "./doubles.ts";
import type { Client, Scenario } from "./staff.ts";
import { type Death, Stage, type StageOptions } from "./stage.ts";

/** The observable result of an ended tree. */
export interface Outcome {
  readonly result: Pick<RunResult, "status" | "stopReason" | "output" | "usage">;
  /** The state of its account. */
  readonly settled: Json;
  readonly reserved: Json;
  readonly inDoubt: number;
  /** Left in the headcount. */
  readonly slots: number;
  /** Every model call, by its prompt. */
  readonly bill: readonly string[];
  /** Every effect, by its key, with how often it was delivered. */
  readonly effects: ReadonlyMap<string, number>;
  readonly events: readonly NumberedEvent[];
  /** Number of items in the store after the user was erased. */
  readonly left: number;
  /** The crash points, in order. */
  readonly points: readonly string[];
}

/** Returns what dies at the n-th crash point. */
export type Plan = (index: number, point: string) => Death;

const patience = { age: 24 * 3_600_000 };
const tenant = "acme";
const partition = { tenantId: TenantId.of(tenant) };

/** Plays a scenario in its own simulated world, with crashes according to the plan. */
export async function play(
  scenario: Scenario,
  plan: Plan = () => "none",
  layer: StageOptions["layer"] = (program) => program,
): Promise<Outcome> {
  const points: string[] = [];
  const bill: string[] = [];
  const effects = new Map<string, number>();
  await using stage = new Stage({ layer, deathAt: (point) => plan(points.push(point) - 1, point) });
  const agents = scenario.agents({
    recordModelCall: (text) => stage.happens("model", () => bill.push(text)),
    recordToolCall: (tool, key) =>
      stage.happens(`effect ${tool}`, () => effects.set(key, (effects.get(key) ?? 0) + 1)),
  } satisfies Witness);
  const store = sealedStoreOn(stage);
  const runtime = stage.runtime({ agents, store });
  const client: Client = {
    run: (id) => runtime.run(id, { tenant }),
    surely: (call) => stage.surely(call),
    start: async (options) => {
      await stage.surely(() => runtime.tenants.setBudget({ tenant }, { maxTokens: 1_000_000, per: "ever" }));
      return stage.surely(() => runtime.start(agents[0], "task", { id: "tree", tenant, ...options }));
    },
    waitUntil: (holds) => stage.world.waitUntil(holds),
  };
  const over = scenario.drive(client).then((run) => outcomeOf(stage, store, run));
  return { ...(await stage.world.run(over, patience)), bill, effects, points };
}

async function outcomeOf(
  stage: Stage,
  store: Store,
  run: RunHandle,
): Promise<Omit<Outcome, "bill" | "effects" | "points">> {
  const { status, stopReason, output, usage } = await run.result();
  const events = await stage.surely(() => eventsOf(run));
  const address = { type: "tree", key: `${tenant}/${run.treeId}` };
  const view = Json.as<LedgerView>(await stage.ask(address, "ledger", { run: run.runId }));
  const { settled, reserved, inDoubt } = view.tree.account;
  await stage.surely(() => store.eraseUser(partition, null));
  return {
    result: { status, stopReason, output, usage },
    settled,
    reserved,
    inDoubt: inDoubt.tokens,
    slots: view.live.length,
    events,
    left: (await store.events.read(partition, run.treeId, { after: 0, limit: 1 })).length,
  };
}

async function eventsOf(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

/** The ledger figures of a tree. */
export interface LedgerView {
  readonly tree: {
    readonly account: {
      readonly settled: Json;
      readonly reserved: Json;
      readonly inDoubt: { readonly tokens: number };
    };
  };
  readonly live: readonly string[];
}

/** Wraps the keys in the store. It is stored elsewhere and always available. */
const wrapping: Keys = { getRing: async () => [{ id: "wrapping", secret: new Uint8Array(32).fill(7) }] };

function sealedStoreOn(stage: Stage): Store {
  const at = (point: string): void => stage.reach(point);
  const stored = crashPointsOf(memoryStore(), "store", at);
  return sealedStore(stored, crashPointsOf(storedKeys(stored.keys, wrapping), "keys", at));
}
