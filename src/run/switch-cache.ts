// What a process knows of the switches that disable tenants, agents and tools.
//
// Job: answer before every step whether something is disabled, without asking the engine before every step. Neighbours:
// the object that holds the switches (tree layer), the steps that ask (held-step, authorize-tool), the start of trees.
//
// Invariants:
// 1. An answer of "enabled" is at most `maxAgeMs` old, counted from when the question was sent, or `maxRenewedAgeMs` while a
//    caller asks again: of many callers at the same time, one asks. None waits for another's question, which may be lost.
// 2. An answer of "disabled" is never taken from memory: it is asked for again. So a lifted switch holds nothing up.
// 3. Tenants are kept apart: one entry for each, and one for the switches of all tenants.
// 4. A question that fails is not remembered.
import { Json, type CallObject, type Clock, type ObjectAddress, type TenantId } from "#kernel";
import { switchesAddress, withProtocol, type SwitchRecord, type SwitchRef } from "#tree";

/** The age up to which an answer counts. */
const maxAgeMs = 500;

/** The age up to which it counts while another caller asks again. */
const maxRenewedAgeMs = 900;

/** The most tenants that a process remembers. */
const maxEntries = 10_000;

/** The tenant, and the agent or the tool, that a step or a start needs. */
export interface SwitchSubject {
  readonly tenantId: TenantId | null;
  /** The type of an agent. Default: none. */
  readonly agent?: string | undefined;
  /** The name of a tool. Default: none. */
  readonly tool?: string | undefined;
}

/** A switch that was found, with the object that has it. */
export type FoundSwitch = SwitchRecord & SwitchRef;

interface Entry {
  readonly askedAt: number;
  /** When a question that renews it was sent last. */
  readonly renewedAt: number;
  readonly switches: readonly SwitchRecord[];
}

/** The switches as this process last read them. */
export class SwitchCache {
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Finds what disables the subject; null: nothing does. Null at once, without a promise, while the answer is fresh. */
  find(call: CallObject, subject: SwitchSubject): Promise<FoundSwitch | null> | null {
    const known = objectsOf(subject).map((object) => ({ object, switches: this.#fresh(object) }));
    const isKnown = known.every(({ switches }) => switches !== null);
    if (isKnown && known.every(({ object, switches }) => !match(object, switches ?? [], subject)))
      return null;
    return this.#find(call, subject);
  }

  /** Forgets what it knows of a tenant, after a change by this process; null: of the switches of all. */
  forget(tenantId: TenantId | null): void {
    this.#entries.delete(switchesAddress(tenantId).key);
  }

  async #find(call: CallObject, subject: SwitchSubject): Promise<FoundSwitch | null> {
    const objects = objectsOf(subject);
    const read = await Promise.all(
      objects.map(async (object) => this.#fresh(object) ?? this.#ask(call, object)),
    );
    const isEnabled = objects.every((object, index) => !match(object, read[index] ?? [], subject));
    if (isEnabled) return null;
    const fresh = await Promise.all(objects.map((object) => this.#ask(call, object)));
    return objects.map((object, index) => match(object, fresh[index] ?? [], subject)).find(Boolean) ?? null;
  }

  #fresh({ key }: ObjectAddress): readonly SwitchRecord[] | null {
    const entry = this.#entries.get(key);
    if (!entry) return null;
    const now = this.#clock.now();
    const isNew = isWithin(now - entry.askedAt, maxAgeMs);
    const isRenewed =
      isWithin(now - entry.askedAt, maxRenewedAgeMs) && isWithin(now - entry.renewedAt, maxAgeMs);
    return isNew || isRenewed ? entry.switches : null;
  }

  async #ask(call: CallObject, object: ObjectAddress): Promise<readonly SwitchRecord[]> {
    const askedAt = this.#clock.now();
    const before = this.#entries.get(object.key);
    if (before) this.#entries.set(object.key, { ...before, renewedAt: askedAt });
    const reply = await call(object, "read", withProtocol(null));
    const switches = Json.as<readonly SwitchRecord[]>(reply);
    const known = this.#entries.get(object.key);
    if (known !== undefined && known.askedAt > askedAt) return switches;
    // The entry that was written first goes first.
    this.#entries.delete(object.key);
    this.#entries.set(object.key, { askedAt, renewedAt: askedAt, switches });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    return switches;
  }
}

const isWithin = (age: number, maxMs: number): boolean => age >= 0 && age < maxMs;

/** The objects that can disable a subject: that of all tenants, and its own tenant's. */
function objectsOf({ tenantId }: SwitchSubject): readonly ObjectAddress[] {
  return tenantId === null ? [switchesAddress(null)] : [switchesAddress(null), switchesAddress(tenantId)];
}

function match(
  { key: object }: ObjectAddress,
  switches: readonly SwitchRecord[],
  { tenantId, agent, tool }: SwitchSubject,
): FoundSwitch | null {
  const names = { tenant: tenantId, agent, tool };
  const found = switches.find(({ kind, name }) => names[kind] === name);
  return found ? { ...found, object } : null;
}
