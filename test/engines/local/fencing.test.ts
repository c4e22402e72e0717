import { local } from "reeve/engines/local";
import { test } from "vitest";
import { showFencing, showReservationOfAnotherExecution } from "../fencing-case.ts";

test.each([false, true])(
  "5.4 the newest execution wins at the gate (replaying every step: %s)",
  async (replayEveryStep) => {
    await showFencing(local({ replayEveryStep }), async () => undefined);
  },
);

test.each([false, true])(
  "3.7 a reservation of an execution that was left behind ends with its step (replaying every step: %s)",
  async (replayEveryStep) => {
    await showReservationOfAnotherExecution(local({ replayEveryStep }), async () => undefined);
  },
);
