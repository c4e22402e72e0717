import { type ObjectSharedContext as RestateSharedContext, serde as plain } from "@restatedev/restate-sdk";
import { Json, type RunLaunch, type Seal } from "#kernel";
import { launchSeal } from "../sealing/sealed-call.ts";
import { sealJson, findTooLarge } from "../sealing/sealed-serde.ts";
import { partitionHeader, runHandler } from "../service-names.ts";

/** A run that a try of a method launches. */
export interface Launch {
  /** Its position among the requests of the call. */
  readonly place: number;
  readonly parameter: Uint8Array;
}

/** Seals the launch of a run. @throws TooLargeError */
export function sealLaunch(seal: Seal, run: RunLaunch): Uint8Array {
  const parameter = sealJson(launchSeal(seal), Json.of(run));
  const problem = findTooLarge(parameter);
  if (problem) throw problem;
  return parameter;
}

/** Sends launches together. Returns the id of each execution, in order. */
export async function sendLaunches(
  restate: RestateSharedContext,
  service: string,
  launches: readonly Launch[],
): Promise<readonly string[]> {
  const headers = { [partitionHeader]: restate.key };
  const sent = launches.map(({ parameter }) =>
    restate.genericSend({ service, method: runHandler, parameter, inputSerde: plain.binary, headers }),
  );
  const names: string[] = [];
  // One after the other, so that every replay awaits them in the same order.
  for (const { invocationId } of sent) names.push(await invocationId);
  return names;
}
