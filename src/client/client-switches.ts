import { Json } from "#kernel";
import type { SwitchView } from "#runtime";
import type { Http } from "./http.ts";

/** Something that a key can disable: its tenant, or an agent or a tool, by its name, for its tenant. */
export type ClientSwitchTarget =
  | { readonly kind: "tenant" }
  | { readonly kind: "agent" | "tool"; readonly name: string };

/** Disables tenants, agents and tools, over HTTP. Every method throws a {@link ClientError}. */
export class ClientSwitches {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Disables a target until it is enabled. `reason` is shown to callers, models and in the audit. */
  async disable(target: ClientSwitchTarget, settings: { readonly reason?: string } = {}): Promise<void> {
    await this.#http.post("/switches/disable", { ...target, ...settings });
  }

  /** Enables it again. Returns whether it was disabled. */
  async enable(target: ClientSwitchTarget): Promise<boolean> {
    const reply = Json.as<{ readonly wasDisabled: boolean }>(
      await this.#http.post("/switches/enable", target),
    );
    return reply.wasDisabled;
  }

  /** Lists the disabled targets of the key's tenant; for a key without a tenant, those disabled for all tenants. */
  async list(): Promise<readonly SwitchView[]> {
    return Json.as<{ readonly items: readonly SwitchView[] }>(await this.#http.get("/switches")).items;
  }
}
