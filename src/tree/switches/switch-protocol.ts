import { Partition, type ObjectAddress, type RunId, type TenantId } from "#kernel";

/** The kind of subject that a switch disables. */
export type SwitchKind = "tenant" | "agent" | "tool";

/** The name of a switch: `name` is the id of the tenant, or the name of the agent or tool. */
export interface SwitchName {
  readonly kind: SwitchKind;
  readonly name: string;
}

/** A set switch: its subject is disabled. */
export interface SwitchRecord extends SwitchName {
  /** The reason, for the model, the caller and the audit. Null: none. */
  readonly reason: string | null;
  /** The caller who set it. Null: the program itself. */
  readonly by: string | null;
  /** When it was set. Milliseconds since 1970. */
  readonly at: number;
}

/** The argument that sets or lifts a switch. */
export interface SetSwitchArgument extends SwitchName {
  readonly isDisabled: boolean;
  readonly reason: string | null;
  readonly by: string | null;
  /** Names the change in the audit. */
  readonly operationId: string;
}

/** A run that a tree holds because of a switch. */
export interface HeldArgument extends SwitchName {
  /** The key of the tree. */
  readonly tree: string;
  readonly run: RunId;
}

/** A switch, and the object that stores it. */
export interface SwitchRef extends SwitchName {
  /** The key of the object: a tenant's, or the one of all tenants. */
  readonly object: string;
}

/** The reply of an object that holds switches. */
export interface SwitchesReply {
  readonly switches: readonly SwitchRecord[];
  /** In the object of all tenants: the tenants that have switches of their own. */
  readonly tenants: readonly string[];
}

/** The type of the objects that hold switches. */
export const switchesType = "switches";

/** Returns the address of a tenant's switches. Null: the switches of all tenants, and of trees without one. */
export const switchesAddress = (tenantId: TenantId | null): ObjectAddress => ({
  type: switchesType,
  key: Partition.key({ tenantId }),
});
