import { ReeveError } from "./errors.ts";

/** The tenant, the agent or the tool was disabled, and has not been enabled since. */
export class DisabledError extends ReeveError {
  readonly code = "disabled";
  readonly what: "tenant" | "agent" | "tool";
  /** The tenant's id, or the name of the agent or tool. */
  readonly id: string;
  /** The reason of the switch. Null: none. */
  readonly reason: string | null;

  constructor({
    what,
    id,
    reason,
  }: {
    readonly what: DisabledError["what"];
    readonly id: string;
    readonly reason: string | null;
  }) {
    super(`${what} ${id} is disabled${reason === null ? "" : `: ${reason}`}`);
    this.what = what;
    this.id = id;
    this.reason = reason;
  }
}
