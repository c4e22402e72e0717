import { AuditWriter } from "#audit";
import type { Clock, Keys, Store } from "#kernel";
import { Projector, type ProjectorDeps } from "./projector.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** Creates the projector into a store, with the keys of its audit. */
export function createProjector(
  audited: { readonly store: Store; readonly keys: Keys },
  {
    keys,
    clock,
    telemetry,
    webhooks,
    log,
  }: Pick<RuntimeOptions, "telemetry" | "log"> &
    Pick<ProjectorDeps, "webhooks"> & { readonly keys: Keys | null; readonly clock: Clock },
): Projector {
  const { store } = audited;
  const now = (): number => clock.now();
  const audit = new AuditWriter({ audit: store.audit, keys: audited.keys, now });
  return new Projector({ store, audit, keys, now, telemetry, webhooks, log });
}
