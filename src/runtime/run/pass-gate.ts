import { Json, type StepIo } from "#kernel";
import type { BeginArgument, FromRun, ReplyOf } from "../tree/protocol.ts";
import type { StepHost } from "./step.ts";

/** Asks the gate, from inside a step, whether a call may begin. What there is to report goes along. */
export function passGate(
  { primitives, driver }: StepHost,
  io: StepIo,
  call: Omit<BeginArgument, keyof FromRun | "epoch">,
): Promise<ReplyOf<"begin">> {
  const { launch, epoch } = primitives;
  const { runId: run, continuation } = launch;
  const from: FromRun = { run, continuation, reports: driver.outbox.unsent, at: primitives.now() };
  const begin: BeginArgument = { ...call, ...from, epoch };
  return io.call(launch.tree, "begin", Json.of(begin)).then(Json.as<ReplyOf<"begin">>);
}
