import { errorText, post } from "../api/http.ts";
import { notify } from "../parts/toast.tsx";

/** A fault that the developer can cause. */
export type FaultKind = "kill-worker" | "slow" | "injection";

const told: Readonly<Record<FaultKind, string>> = {
  "kill-worker": "Its worker is killed. Another process continues.",
  slow: "The next five model calls take two seconds longer.",
  injection: "The next page that it reads holds an injected prompt.",
};

/** Injects a fault and states what to expect. Returns whether it was accepted. */
export async function causeFault(kind: FaultKind): Promise<boolean> {
  try {
    await post("/dev/faults", { kind });
    notify(told[kind]);
    return true;
  } catch (error) {
    notify(errorText(error));
    return false;
  }
}
