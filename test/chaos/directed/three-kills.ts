import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../free-port.ts";
import { only } from "../check/reading.ts";
import { Client } from "../client.ts";
import { Crew } from "../stage/crew.ts";
import { openStage, slowly } from "../stage/stage.ts";
import { plan } from "../workload/plan.ts";
import { reconcileAll } from "./reconcile-all.ts";

const cap = 5_000;

/** Makes the same model call lose its worker three times in a row. Returns the violation. Null: none. */
export async function threeKills(): Promise<{ readonly line: string; readonly isRight: boolean }> {
  await using stage = await openStage({ seed: "three kills", providerFaults: 0 });
  const folder = join(stage.folder, "workers");
  await mkdir(folder);
  const { ingress, admin } = stage.restate;
  const { double, sink, database } = stage;
  const at = { ingress, admin, port: await freePort(), namespace: "reeve" };
  const given = { ...at, double: double.baseURL, sink: sink.url, database, folder };
  await using crew = await Crew.open(given, { size: 2, env: {} });
  const over = new AbortController();
  await using client = await Client.open(stage, { namespace: "reeve", over: over.signal, helps: false });
  const { secret, ...rest } = plan("three kills", 0, "sleep");
  const slow = { ...rest, secret, agent: "patient", task: slowly, acts: [], budget: { maxTokens: cap } };
  const tree = await client.play(slow);
  for (let kill = 1; kill <= 3; kill++) {
    await double.inFlight.reaches(1);
    // It is unknown which worker makes the call, so all are killed in turn until it is gone.
    for (let worker = 0; double.inFlight.requests > 0; worker++) {
      await crew.kill(worker);
      await delay(50);
    }
  }
  const held = (): boolean =>
    tree.events.some((event) => event.type === "run.paused" && event.cause === "held");
  while (!held()) await delay(20);
  const { ledger, ...history } = await client.history(tree);
  const status = await tree.handle.status();
  const bill = double.bill.entries;
  const { billed, before, after } = await reconcileAll(client, { bill }, [tree]);
  over.abort();
  const facts = {
    "three calls were billed": bill.length === 3,
    "what is booked covers the bill":
      before.settled.costMicros + before.inDoubt.costMicros >= billed.costMicros,
    "the bill is within the cap": billed.tokens <= cap,
    "the run is paused, and says that it is held":
      status === "paused" && only({ ...history, ledger }, "run.paused")[0]?.cause === "held",
    "reconciling clears the doubt":
      after.inDoubt.costMicros === 0 && after.settled.costMicros === billed.costMicros,
  };
  const wrong = Object.entries(facts).flatMap(([fact, holds]) => (holds ? [] : [fact]));
  const figures = `billed ${billed.costMicros}, in doubt ${before.inDoubt.costMicros}, after reconciling ${after.inDoubt.costMicros} micro-dollars`;
  const verdict = wrong.length === 0 ? "holds" : `BROKEN (${wrong.join("; ")})`;
  return { line: `three kills of one call: ${verdict}: ${figures}`, isRight: wrong.length === 0 };
}
