import {
  AgentId,
  checkDuration,
  checkTerms,
  ExecutionBudget,
  Json,
  Labels,
  NotFoundError,
  Page,
  Partition,
  SpawnBudget,
  TenantId,
  UserId,
  type Agent,
  type Engine,
  type Input,
  type InputLimits,
  type PageRequest,
} from "#kernel";
import {
  checkInput,
  CronTicks,
  scheduleAddress,
  scheduleListAddress,
  withProtocol,
  type CatchUp,
  type ListSchedulesArgument,
  type ScheduleLimits,
  type ScheduleRefusal,
  type ScheduledStart,
  type ScheduleOwner,
  type ScheduleReply,
  type ScheduleSpec,
  type SetScheduleArgument,
  type TickResult,
} from "#tree";

/** A schedule to set: it starts an agent at every tick. */
export interface ScheduleOptions extends ScheduledStart {
  /** 1 to 64 letters, digits, dots, dashes and underscores. An existing schedule of this id is replaced. */
  readonly id: string;
  /** Five fields (minute, hour, day, month, weekday), or six with seconds in front. */
  readonly cron: string;
  /** An IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string | undefined;
  readonly agent: Agent<unknown>;
  readonly input: Input;
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  /** The missed ticks that still start a tree, once a worker runs again. Default: latest. */
  readonly catchUp?: CatchUp | undefined;
  /** Whether a tick starts a tree while an earlier tick's tree is alive. Default: start. */
  readonly overlap?: "start" | "skip" | undefined;
  /** The id of an API key in the store. While it is revoked or expired, ticks start nothing. Default: none. */
  readonly key?: string | undefined;
}

/** A schedule in the form of lists. */
export interface ScheduleView extends Pick<
  ScheduleSpec,
  "id" | "user" | "cron" | "timeZone" | "agent" | "catchUp" | "overlap" | "key"
> {
  /** The limits of each tree. */
  readonly budget: ExecutionBudget;
  readonly paused: boolean;
  /** When it was set. Milliseconds since 1970. */
  readonly setAt: number;
  /** Its next tick. Null: it is paused, or has none. */
  readonly nextAt: number | null;
  /** The outcome of its last tick. Null: none. */
  readonly last: TickResult | null;
}

/** A schedule with the input and options of its trees. */
export interface ScheduleDetails extends ScheduleView {
  readonly input: Input;
}

/** A filter of schedules: those of a tenant, or of one of its users. */
export interface ScheduleFilter extends Partial<PageRequest> {
  readonly tenant?: string | undefined;
  /** Null: only schedules without a user. Default: all users. */
  readonly user?: string | null | undefined;
}

/** The dependencies of {@link Schedules}. */
export interface SchedulesDeps {
  readonly engine: Engine;
  /** Returns an agent by its type. @throws NotFoundError */
  readonly agentOf: (type: string) => Agent;
  readonly inputLimits: InputLimits | undefined;
  /** Whether there is a store to look up keys in. */
  readonly hasStore: boolean;
  readonly now: () => number;
  readonly uuid: () => string;
  readonly limits: ScheduleLimits;
}

/** Default limits: a schedule costs a timer, and a tree for each tick. */
export const defaultScheduleLimits: ScheduleLimits = { maxPerUser: 100, maxPerTenant: 1_000 };

/** Returns the limits unchanged. @throws RangeError unless each of them is an integer >= 0. */
export function checkScheduleLimits(limits: ScheduleLimits): ScheduleLimits {
  for (const [name, limit] of Object.entries(limits))
    if (!Number.isSafeInteger(limit) || limit < 0)
      throw new RangeError(`schedules.${name} must be an integer >= 0, got ${limit}`);
  return limits;
}

/** Schedules that start trees automatically. The engine keeps them. */
export class Schedules {
  readonly #deps: SchedulesDeps;

  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
  }

  /**
   * Creates a schedule, or replaces the one of that id. Equal content changes nothing. Missed ticks are kept unless the
   * times change. `lower`: limits of the caller. Those of the runtime hold, too.
   *
   * @throws TypeError, RangeError on invalid times or limits, or if the user or the tenant has too many; NotFoundError if
   * the agent is unknown here; InvalidInputError, TooLargeError.
   */
  async set(options: ScheduleOptions, lower: Partial<ScheduleLimits> = {}): Promise<ScheduleView> {
    const { engine, now, uuid } = this.#deps;
    const limits = this.#limit(lower);
    const spec = this.#spec(options);
    checkTimes(spec, now());
    const argument: SetScheduleArgument = { spec, nonce: uuid(), limits };
    const address = scheduleAddress(spec.id, checkOwner(options));
    const reply = Json.as<ScheduleReply | ScheduleRefusal>(
      await engine.call(address, "set", withProtocol(argument)),
    );
    if (!("full" in reply)) return toScheduleView(reply);
    const [whose, max] =
      reply.full === "user" ? ["user", limits.maxPerUser] : ["tenant", limits.maxPerTenant];
    throw new RangeError(`a ${whose} may have at most ${max} schedules: remove one first`);
  }

  /** Finds a schedule. Null: there is none of that id. */
  async get(id: string, owner: ScheduleOwner = {}): Promise<ScheduleDetails | null> {
    const found = await this.#find(id, owner);
    return found && { ...toScheduleView(found), input: found.spec.input };
  }

  /** Lists schedules, by user and id. */
  async list({ tenant, user, size = 50, after }: ScheduleFilter = {}): Promise<Page<ScheduleView>> {
    const place = Page.request({ size, ...(after !== undefined && { after }) }).after;
    const argument: ListSchedulesArgument = { user, after: place?.[1], size: size + 1 };
    const list = scheduleListAddress(Partition.of(tenant));
    const names = Json.as<readonly string[]>(
      await this.#deps.engine.call(list, "list", withProtocol(argument)),
    );
    const page = Page.of(names, size, (name) => [0, name]);
    const found = page.items.map((name) => {
      const [owner, id] = Json.as<readonly [string | null, string]>(Json.of(JSON.parse(name)));
      return this.#find(id, { tenant, user: owner });
    });
    const schedules = (await Promise.all(found)).filter((schedule) => schedule !== null);
    return { ...page, items: schedules.map(toScheduleView) };
  }

  /** Removes a schedule: no further tick starts a tree. Live trees continue. Returns whether it existed. */
  async remove(id: string, owner: ScheduleOwner = {}): Promise<boolean> {
    const address = scheduleAddress(checkScheduleId(id), checkOwner(owner));
    return (await this.#deps.engine.call(address, "remove", withProtocol(null))) === true;
  }

  /** Pauses a schedule: ticks start nothing until it is resumed. @throws NotFoundError */
  pause(id: string, owner: ScheduleOwner = {}): Promise<ScheduleView> {
    return this.#pause(id, owner, { paused: true });
  }

  /** Resumes a schedule from now on. @throws NotFoundError */
  resume(id: string, owner: ScheduleOwner = {}): Promise<ScheduleView> {
    return this.#pause(id, owner, { paused: false });
  }

  #limit({ maxPerUser = Infinity, maxPerTenant = Infinity }: Partial<ScheduleLimits>): ScheduleLimits {
    const { limits } = this.#deps;
    return {
      maxPerUser: Math.min(limits.maxPerUser, maxPerUser),
      maxPerTenant: Math.min(limits.maxPerTenant, maxPerTenant),
    };
  }

  async #find(id: string, owner: ScheduleOwner): Promise<ScheduleReply | null> {
    const address = scheduleAddress(checkScheduleId(id), checkOwner(owner));
    return Json.as(await this.#deps.engine.call(address, "get", withProtocol(null)));
  }

  async #pause(
    id: string,
    owner: ScheduleOwner,
    change: { readonly paused: boolean },
  ): Promise<ScheduleView> {
    const address = scheduleAddress(checkScheduleId(id), checkOwner(owner));
    const found = await this.#deps.engine.call(address, "pause", withProtocol(change));
    if (found === null) throw new NotFoundError({ what: "schedule", id });
    return toScheduleView(Json.as(found));
  }

  #spec(options: ScheduleOptions): ScheduleSpec {
    const { id, cron, timeZone = "UTC", user, catchUp = "latest", overlap = "start", key } = options;
    if (!["all", "latest", "none"].includes(catchUp))
      throw new TypeError(`catchUp must be all, latest or none, got ${JSON.stringify(catchUp)}`);
    if (!["start", "skip"].includes(overlap))
      throw new TypeError(`overlap must be start or skip, got ${JSON.stringify(overlap)}`);
    if (key !== undefined && !this.#deps.hasStore)
      throw new TypeError("key needs a store to look it up: createRuntime({ store })");
    const agent = AgentId.type(options.agent.id);
    void this.#deps.agentOf(agent);
    return {
      id: checkScheduleId(id),
      user: user === undefined ? null : UserId.of(user),
      cron: cron.trim(),
      timeZone,
      agent,
      input: toJsonInput(options.input, this.#deps.inputLimits),
      options: checkStartOptions(options),
      catchUp,
      overlap,
      key: key ?? null,
    };
  }
}

/** Returns the id of a schedule. @throws TypeError if it is invalid. */
export function checkScheduleId(id: string): string {
  if (/^[\w.-]{1,64}$/.test(id)) return id;
  throw new TypeError(
    `invalid schedule id ${JSON.stringify(id.slice(0, 100))}: use 1 to 64 letters, digits, dots, dashes and underscores`,
  );
}

/** Checks the times of a schedule. @throws TypeError, RangeError with the problem. */
export function checkTimes(
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string },
  now: number,
): void {
  if (new CronTicks(cron, timeZone).next(now) === null)
    throw new RangeError(`cron ${JSON.stringify(cron)} has no tick: its date does not exist`);
}

/** Returns the shortest time between two of the next ticks. Infinity: there is at most one. */
export function shortestIntervalMs(
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string },
  now: number,
): number {
  return new CronTicks(cron, timeZone).shortestInterval(now);
}

/** Checks the owner of a schedule. @throws TypeError on an invalid tenant or user. */
function checkOwner({ tenant, user }: ScheduleOwner): ScheduleOwner {
  if (tenant !== undefined) TenantId.of(tenant);
  return { tenant, user: user === undefined || user === null ? null : UserId.of(user) };
}

/** Checks the terms now, because a mistake would otherwise show at the first tick. @throws RangeError, TypeError */
function checkStartOptions(options: ScheduledStart): ScheduledStart {
  const { budget, spawn, deadlineS, priority, retention, permissions, labels, metadata } = options;
  ExecutionBudget.of(budget);
  SpawnBudget.of(spawn);
  checkDuration("deadlineS", deadlineS ?? 0);
  checkTerms(options);
  return {
    ...(budget && { budget }),
    ...(spawn && { spawn }),
    ...(deadlineS !== undefined && { deadlineS }),
    ...(priority && { priority }),
    ...(retention && { retention }),
    ...(permissions && { permissions }),
    ...(labels && { labels: Labels.of(labels) }),
    ...(metadata && { metadata }),
  };
}

/** Returns an input that JSON can hold. @throws InvalidInputError, TooLargeError */
function toJsonInput(input: Input, limits: InputLimits | undefined): Input {
  checkInput(input, limits);
  if (typeof input === "string" || !input.files) return input;
  const files = input.files.map((file) =>
    "data" in file && typeof file.data !== "string"
      ? { ...file, data: Buffer.from(file.data).toString("base64") }
      : file,
  );
  return { ...input, files };
}

function toScheduleView({ spec, state }: ScheduleReply): ScheduleView {
  const { input: _, options, ...shown } = spec;
  const { paused, setAt, next: nextAt, last } = state;
  return { ...shown, budget: options.budget ?? {}, paused, setAt, nextAt, last };
}
