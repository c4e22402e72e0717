// The switches that a process knows. They disable tenants, agents and tools.
//
// Job: tell before every step whether something is disabled, without a call of the engine before every step.
// Neighbours: the object that holds the switches (tree layer), the steps that check (held-step, authorize-tool), the
// start of trees.
//
// Invariants:
// 1. One object is read, that of all tenants. It knows which tenants have switches; only the objects of those are read,
//    too.
// 2. An answer of "enabled" is at most `maxAgeMs` old, counted from the start of the read, or `maxRenewedAgeMs` while a
//    caller renews it. Of many concurrent callers, one reads. None waits for another's read, which may be lost.
// 3. An answer of "disabled" is never taken from the cache: it is read again. So a lifted switch blocks nothing.
// 4. A failed read is not cached, nor one that began before a change by this process: its answer may be older.
import { Json, type CallObject, type Clock, type ObjectAddress, type TenantId } from "#kernel";
import { switchesAddress, withProtocol, type SwitchesReply, type SwitchRecord, type SwitchRef } from "#tree";

/** Maximum age of an answer. */
const maxAgeMs = 500;

/** Maximum age of an answer while another caller renews it. */
const maxRenewedAgeMs = 900;

/** Maximum number of tenants that a process remembers. */
const maxEntries = 10_000;

/** The object with the switches of all tenants. */
const everyTenant = switchesAddress(null);

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
  /** Start of the last renewal. */
  readonly renewedAt: number;
  readonly reply: SwitchesReply;
}

/** The switches as this process last read them. */
export class SwitchCache {
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, Entry>();
  /** Number of changes by this process. */
  #changes = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Finds the switch that disables the subject. Null: none. Returns null without a promise while the answer is fresh.
   */
  find(call: CallObject, subject: SwitchSubject): Promise<FoundSwitch | null> | null {
    const all = this.#fresh(everyTenant);
    // Called before each step, so nothing is allocated while nothing is disabled.
    if (all && all.switches.length === 0 && all.tenants.length === 0) return null;
    const known = this.#findCached(subject, (object) => this.#fresh(object));
    return known === null || known.length > 0 ? this.#find(call, subject) : null;
  }

  /** Drops the cached switches of a tenant, after a change by this process. Null: those of all tenants. */
  forget(tenantId: TenantId | null): void {
    this.#changes += 1;
    this.#entries.delete(switchesAddress(tenantId).key);
    this.#entries.delete(everyTenant.key);
  }

  /** Returns the switches for a subject, as far as they are cached. Null: one answer is missing. */
  #findCached(
    subject: SwitchSubject,
    answerOf: (object: ObjectAddress) => SwitchesReply | null,
  ): readonly FoundSwitch[] | null {
    const all = answerOf(everyTenant);
    if (!all) return null;
    const found = match(everyTenant, all, subject);
    const own = ownAddress(all, subject);
    const reply = own && answerOf(own);
    if (own && !reply) return null;
    return [...found, ...(own && reply ? match(own, reply, subject) : [])];
  }

  async #find(call: CallObject, subject: SwitchSubject): Promise<FoundSwitch | null> {
    const found = await this.#read(call, subject, (object) => this.#fresh(object));
    if (found.length === 0) return null;
    // Read again: it may have been lifted since.
    return (await this.#read(call, subject, () => null))[0] ?? null;
  }

  async #read(
    call: CallObject,
    subject: SwitchSubject,
    known: (object: ObjectAddress) => SwitchesReply | null,
  ): Promise<readonly FoundSwitch[]> {
    const all = known(everyTenant) ?? (await this.#ask(call, everyTenant));
    const own = ownAddress(all, subject);
    const reply = own && (known(own) ?? (await this.#ask(call, own)));
    return [...match(everyTenant, all, subject), ...(own && reply ? match(own, reply, subject) : [])];
  }

  #fresh({ key }: ObjectAddress): SwitchesReply | null {
    const entry = this.#entries.get(key);
    if (!entry) return null;
    const now = this.#clock.now();
    if (isWithin(now - entry.askedAt, maxAgeMs)) return entry.reply;
    const isRenewed =
      isWithin(now - entry.askedAt, maxRenewedAgeMs) && isWithin(now - entry.renewedAt, maxAgeMs);
    return isRenewed ? entry.reply : null;
  }

  async #ask(call: CallObject, object: ObjectAddress): Promise<SwitchesReply> {
    const askedAt = this.#clock.now();
    const before = this.#entries.get(object.key);
    if (before) this.#entries.set(object.key, { ...before, renewedAt: askedAt });
    const changes = this.#changes;
    const reply = Json.as<SwitchesReply>(await call(object, "read", withProtocol(null)));
    if (changes !== this.#changes) return reply;
    const known = this.#entries.get(object.key);
    if (known !== undefined && known.askedAt > askedAt) return reply;
    // The oldest entry is evicted first.
    this.#entries.delete(object.key);
    this.#entries.set(object.key, { askedAt, renewedAt: askedAt, reply });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    return reply;
  }
}

const isWithin = (age: number, maxMs: number): boolean => age >= 0 && age < maxMs;

/** Returns the object of the subject's own tenant. Null: that tenant has no switches. */
function ownAddress({ tenants }: SwitchesReply, { tenantId }: SwitchSubject): ObjectAddress | null {
  if (tenantId === null || tenants.length === 0) return null;
  const own = switchesAddress(tenantId);
  return tenants.includes(own.key) ? own : null;
}

function match(
  { key: object }: ObjectAddress,
  { switches }: SwitchesReply,
  { tenantId, agent, tool }: SwitchSubject,
): readonly FoundSwitch[] {
  const names = { tenant: tenantId, agent, tool };
  return switches
    .filter(({ kind, name }) => names[kind] === name)
    .map((found) => Object.assign({ object }, found));
}
