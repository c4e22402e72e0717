import { type Agent, createRuntime, type Runtime, type CreateRuntimeOptions } from "reeve";
import { type Auth, listen, type Listener, type ListenOptions } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { Wire } from "../wire.ts";

/** Settings of the runtime, and limits of the server. */
export type SiteOptions = Partial<CreateRuntimeOptions> & Pick<ListenOptions, "limits">;

/** A server with the page at `/ui`, and a runtime on the local engine behind it. */
export class DashboardSite implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly wire: Wire;
  readonly #listener: Listener;

  private constructor(runtime: Runtime, wire: Wire, listener: Listener) {
    this.runtime = runtime;
    this.wire = wire;
    this.#listener = listener;
  }

  static async open(
    folder: string,
    agents: readonly Agent[],
    auth: Auth | "none" = "none",
    { limits = {}, ...options }: SiteOptions = {},
  ): Promise<DashboardSite> {
    const runtime = createRuntime({ store: memoryStore(), approver: "human", agents, ...options });
    const listener = await listen({ runtime, auth, port: 0, ui: { folder }, limits });
    return new DashboardSite(runtime, await Wire.to(listener.port), listener);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.wire.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wire[Symbol.asyncDispose]();
    await this.#listener[Symbol.asyncDispose]();
    await this.runtime[Symbol.asyncDispose]();
  }
}
