import { Json, type ObjectContext, type ObjectDefinition } from "#kernel";
import type { AuditKind, AuditNote } from "#audit";
import type { ProjectorOrder } from "../orders.ts";
import { projectorType } from "../state/tree-work.ts";
import {
  switchesAddress,
  switchesType,
  type HeldArgument,
  type SetSwitchArgument,
  type SwitchName,
  type SwitchRecord,
  type SwitchesReply,
} from "./switch-protocol.ts";

/*
 * The switches of one tenant, or of all tenants, and the runs that are held because of them.
 *
 * - `switches`: the set switches.
 * - `tenants`: in the object of all tenants, the tenants that have switches of their own. So a worker reads one object,
 *   at most twice a second, for any number of tenants.
 * - `held/<kind>/<name>/<tree>/<run>`: a run that its tree holds until the switch is lifted.
 *
 * 1. A tree holds a run first and then notifies this object. If the switch was lifted before that, the run is released
 *    immediately: no order of the two leaves a run held.
 * 2. A lifted switch releases runs in parts, so that no call grows with their number.
 */

const setKey = "switches";
const tenantsKey = "tenants";

/** Number of runs that one call releases. */
const releasedAtOnce = 200;

const heldPrefix = ({ kind, name }: SwitchName): string => `held/${kind}/${name}/`;

const readAll = (object: ObjectContext): readonly SwitchRecord[] =>
  Json.as<readonly SwitchRecord[] | null>(object.get(setKey)) ?? [];

const readTenants = (object: ObjectContext): readonly string[] =>
  Json.as<readonly string[] | null>(object.get(tenantsKey)) ?? [];

/** Records, in the object of all tenants, whether a tenant has switches of its own. */
function noteTenant(object: ObjectContext, argument: Json): Json {
  const { tenant, isListed } = Json.as<{ readonly tenant: string; readonly isListed: boolean }>(argument);
  const others = readTenants(object).filter((known) => known !== tenant);
  object.set(tenantsKey, isListed ? [...others, tenant] : others);
  return null;
}

/** Notifies the object of all tenants whether this tenant has switches. */
function listTenant(object: ObjectContext, isListed: boolean): void {
  const all = switchesAddress(null);
  if (object.key !== all.key) object.call(all, "noteTenant", Json.of({ tenant: object.key, isListed }));
}

const isSameSwitch =
  ({ kind, name }: SwitchName) =>
  (other: SwitchName): boolean =>
    other.kind === kind && other.name === name;

/** Releases the next runs that were held for a switch. */
function releaseSome(object: ObjectContext, lifted: SwitchName): void {
  const names = object.list(heldPrefix(lifted));
  const some = names.slice(0, releasedAtOnce);
  object.prefetch(some);
  for (const name of some) {
    const run = Json.as<HeldArgument | null>(object.get(name));
    object.clear(name);
    if (run) releaseRun(object, run);
  }
  if (names.length > some.length)
    object.send({ type: switchesType, key: object.key }, "releaseMore", Json.of(lifted));
}

function releaseRun(object: ObjectContext, { tree, run, kind, name }: HeldArgument): void {
  const argument = { run, kind, name, object: object.key, at: object.now() };
  object.send({ type: "tree", key: tree }, "releaseDisabled", Json.of(argument));
}

/** Records a run that its tree holds. Releases it if the switch was lifted since. */
function noteHeld(object: ObjectContext, argument: Json): Json {
  const run = Json.as<HeldArgument>(argument);
  if (readAll(object).some(isSameSwitch(run)))
    object.set(`${heldPrefix(run)}${run.tree}/${run.run}`, Json.of(run));
  else releaseRun(object, run);
  return null;
}

/** Continues releasing runs, unless the switch is set again. */
function releaseMore(object: ObjectContext, argument: Json): Json {
  const lifted = Json.as<SwitchName>(argument);
  if (!readAll(object).some(isSameSwitch(lifted))) releaseSome(object, lifted);
  return null;
}

/** Returns the audit entry for a switch that was set or lifted. */
function switchNote({ kind, name, isDisabled, ...change }: SetSwitchArgument, at: number): AuditNote {
  const { reason, by, operationId } = change;
  const audited: AuditKind = "switch";
  const decision = isDisabled ? "disabled" : "enabled";
  return {
    at,
    kind: audited,
    data: { decision, what: kind, name, reason, by },
    source: `switch/${operationId}`,
  };
}

function readSwitches(object: ObjectContext): Json {
  object.prefetch([setKey, tenantsKey]);
  const reply: SwitchesReply = { switches: readAll(object), tenants: readTenants(object) };
  return Json.of(reply);
}

/** Returns the definition of switches objects. `projects`: whether there is a store, so that changes are audited. */
export function switchesObject({ projects }: { readonly projects: boolean }): ObjectDefinition {
  /** Sets or lifts a switch. Returns whether anything changed. */
  const set = (object: ObjectContext, argument: Json): Json => {
    const change = Json.as<SetSwitchArgument>(argument);
    const { kind, name, isDisabled, reason, by } = change;
    const before = readAll(object);
    const others = before.filter((record) => !isSameSwitch(change)(record));
    if (!isDisabled && others.length === before.length) return false;
    const at = object.now();
    const after = isDisabled ? [...others, { kind, name, reason, by, at }] : others;
    if (after.length > 0 !== before.length > 0) listTenant(object, after.length > 0);
    object.set(setKey, Json.of(after));
    if (!isDisabled) releaseSome(object, { kind, name });
    if (projects) {
      const order: ProjectorOrder = { kind: "note", note: switchNote(change, at) };
      object.send({ type: projectorType, key: object.key }, "take", Json.of(order));
    }
    return true;
  };
  return {
    type: switchesType,
    methods: { set, held: noteHeld, releaseMore, noteTenant },
    queries: { read: readSwitches },
  };
}
