import {
  NoAnswerError,
  type AttachOptions,
  type BlockedExecution,
  type ChangeOptions,
  type EngineProgram,
  type Json,
  type ObjectAddress,
  type ObjectDefinition,
  type Blocker,
  type Sealing,
} from "#kernel";
import { contentObject, systemClock, withTimeout } from "#base";
import { Admin } from "./client/admin.ts";
import { type Build, buildOf, toBuildPath } from "./operations/build.ts";
import { ChangePoll } from "./client/change-poll.ts";
import { checkServer } from "./operations/check-server.ts";
import { type Gauges, Latency } from "./operations/gauges.ts";
import { type HandlerSettings, retryPolicy } from "./hosting/handler-settings.ts";
import { GroupedCalls } from "./client/grouped-calls.ts";
import { Ingress } from "./client/ingress.ts";
import { InFlightSteps } from "./hosting/in-flight-steps.ts";
import { type Log, logToStderr, sdkLog } from "./operations/log-record.ts";
import { type MoveOptions, type MoveResult, countRuns, moveRuns } from "./operations/move-runs.ts";
import { objectHost } from "./hosting/object-host.ts";
import { findBlocked, getObjectBlocker, getBlocker } from "./operations/blocker.ts";
import { OpenExecutions } from "./hosting/open-executions.ts";
import { Probes } from "./operations/probes.ts";
import { Readiness } from "./operations/readiness.ts";
import { promote, register } from "./operations/registration.ts";
import { ReplayFuzz } from "./hosting/replay-fuzz.ts";
import { runHost } from "./hosting/run-host.ts";
import type { RestateEngine } from "./restate-engine.ts";
import { type RestateOptions, checkDurations } from "./restate-options.ts";
import type { Gate } from "./hosting/run-primitives.ts";
import { ServiceNames } from "./service-names.ts";
import { sinkHost } from "./hosting/sink-host.ts";
import { Worker } from "./hosting/worker.ts";

/** Creates an engine that executes runs on a Restate server. Runs survive a crash of any process. */
export function restate(options: RestateOptions): RestateEngine {
  return new RestateWorker(options);
}

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const defaultGraceMs = 25_000;

class RestateWorker implements RestateEngine {
  readonly name = "restate";
  readonly durable = true;
  readonly #options: RestateOptions;
  readonly #names: ServiceNames;
  readonly #seals: Sealing = {
    getSeal: async (partition) => this.#getSealing().getSeal(partition),
    forget: (partition) => this.#getSealing().forget(partition),
  };
  readonly #ingress: Ingress;
  readonly #kept: InFlightSteps;
  readonly #executions = new OpenExecutions();
  readonly #gate = new Latency();
  readonly #readiness: Readiness;
  readonly #admin: Admin;
  readonly #log: Log;
  readonly #poll = new ChangePoll();
  #program: EngineProgram | null = null;
  #methods: ReadonlySet<string> = new Set();
  #worker: Worker | null = null;
  #probes: Probes | null = null;
  #servingSince: number | null = null;

  constructor(options: RestateOptions) {
    const { ingress, admin, connectTimeoutMs = 30_000, host = "127.0.0.1", identityKeys = [] } = options;
    if (!loopback.has(host) && identityKeys.length === 0)
      throw new TypeError(
        `host ${host} can be reached from other machines: set \`identityKeys\`, so that only your Restate server can call this worker`,
      );
    checkDurations(options);
    this.#options = options;
    this.#names = new ServiceNames(options.namespace ?? "reeve");
    const nodes = [ingress].flat();
    this.#ingress = new Ingress({ urls: nodes, names: this.#names, seals: this.#seals, connectTimeoutMs });
    this.#admin = new Admin(admin);
    this.#readiness = new Readiness(nodes);
    this.#kept = new InFlightSteps({ stepRetentionMs: options.stepRetentionMs ?? 60_000 });
    this.#log = options.log ?? logToStderr;
  }

  get probes(): string | null {
    return this.#probes?.url ?? null;
  }

  define(program: EngineProgram): void {
    const reserved = program.objects.find(({ type }) => this.#names.isTaken(type));
    if (reserved)
      throw new TypeError(`an object must not be named ${reserved.type}: the engine uses this name`);
    if (program.sealing === null)
      throw new TypeError(
        "the Restate engine needs sealing, because state leaves the process: set createRuntime({ keys }) or REEVE_KEY",
      );
    this.#program = program;
    this.#methods = new Set(
      program.objects.flatMap(({ type, methods }) =>
        Object.keys(methods).map((method) => `${type}/${method}`),
      ),
    );
  }

  /** @throws StartupError */
  async serve({ port }: { readonly port: number }): Promise<void> {
    if (this.#program === null) throw new TypeError("define the program before serving it");
    if (this.#servingSince !== null) throw new TypeError("this engine is already serving");
    const { host = "127.0.0.1", url, probePort, admin, ingress, connectTimeoutMs = 30_000 } = this.#options;
    const settings = toHandlerSettings(this.#options);
    const { namespace = "reeve", build: named, sharePort = false } = this.#options;
    const build = buildOf(this.#program, { namespace, settings, build: named });
    const worker = this.#createWorker(this.#program, settings, build);
    this.#worker = worker;
    this.#servingSince = performance.now();
    try {
      if (probePort !== undefined)
        this.#probes = await Probes.start(this.#probeSubject(), { host, port: probePort });
      const localUri = await worker.listen({ host, port, reusePort: sharePort });
      const uri = url === undefined ? localUri : new URL(new URL(localUri).pathname, url).href;
      await checkServer({ admin, ingress: [ingress].flat(), connectTimeoutMs });
      await register(this.#admin, {
        uri,
        program: build.program,
        service: this.#names.run,
        sharesPort: sharePort || url !== undefined,
        connectTimeoutMs,
        log: this.#log,
      });
      this.#log({ level: "info", message: `serving ${uri}` });
    } catch (error) {
      await this.#close();
      throw error;
    }
    if (this.#options.drainOnSigtermMs !== undefined) process.once("SIGTERM", this.#onSigterm);
    this.#readiness.isRegistered = true;
  }

  gauges(): Gauges {
    const since = this.#servingSince;
    return {
      openExecutions: this.#executions.open,
      startedExecutions: this.#executions.started,
      endedExecutions: this.#executions.ended,
      keptSteps: this.#kept.size,
      gate: this.#gate.read(),
      uptimeS: since === null ? 0 : (performance.now() - since) / 1000,
    };
  }

  async drain({ graceMs = defaultGraceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#drain(graceMs);
  }

  moveRuns(options: MoveOptions): Promise<MoveResult> {
    return moveRuns(this.#admin, this.#names, options);
  }

  countRuns(build: string): Promise<number> {
    return countRuns(this.#admin, this.#names, build);
  }

  promote(build: string): Promise<void> {
    return promote(this.#admin, this.#names.run, build);
  }

  async call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    if (this.#methods.has(`${to.type}/${method}`)) this.#poll.reset(to);
    const { requestTimeoutMs = 40_000 } = this.#options;
    const onTimeout = (): never => {
      throw new NoAnswerError({ call: `${to.type}.${method}`, waitedMs: requestTimeoutMs });
    };
    return withTimeout(
      { clock: systemClock, ms: requestTimeoutMs, onTimeout, bestEffort: true },
      ({ signal }) => this.#ingress.call({ to, method, argument }, signal),
    );
  }

  waitForChange(object: ObjectAddress, options: ChangeOptions): Promise<void> {
    return this.#poll.waitForChange(object, options);
  }

  attach(execution: string, { tree, signal }: AttachOptions): Promise<Json> {
    return this.#ingress.attach(execution, tree, signal);
  }

  blocker(execution: string): Promise<Blocker | null> {
    return getBlocker(this.#admin, execution);
  }

  objectBlocker(object: ObjectAddress): Promise<Blocker | null> {
    return getObjectBlocker(this.#admin, this.#names, object);
  }

  findBlocked(): Promise<readonly BlockedExecution[]> {
    return findBlocked(this.#admin, this.#names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("SIGTERM", this.#onSigterm);
    this.#poll.close();
    await this.#close();
    this.#kept.close();
    this.#ingress.close();
  }

  readonly #onSigterm = (): void => void this.#endProcess();

  async #endProcess(): Promise<void> {
    this.#log({ level: "info", message: "SIGTERM: draining" });
    const left = await this.#drain(this.#options.drainOnSigtermMs ?? defaultGraceMs);
    await this[Symbol.asyncDispose]();
    process.exit(left === 0 ? 0 : 1);
  }

  /** Drains the worker. Returns the number of executions that had not ended. */
  async #drain(graceMs: number): Promise<number> {
    this.#readiness.isDraining = true;
    this.#executions.leave();
    await this.#worker?.drain(graceMs);
    const left = this.#executions.open;
    const message = `the drain timed out, executions still running: ${left}`;
    if (left > 0) this.#log({ level: "warn", message });
    return left;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#worker?.close(), this.#probes?.close()]);
    this.#worker = null;
    this.#probes = null;
    this.#servingSince = null;
  }

  #getSealing(): Sealing {
    const sealing = this.#program?.sealing;
    if (!sealing) throw new TypeError("define the program before calling its objects");
    return sealing;
  }

  #probeSubject() {
    return { gauges: () => this.gauges(), blocker: () => this.#readiness.blocker() };
  }

  #createWorker(program: EngineProgram, settings: HandlerSettings, build: Build): Worker {
    const names = this.#names;
    const seals = this.#seals;
    const executions = this.#executions;
    const grouped = new GroupedCalls((...call) => this.#ingress.call(...call), program.objects);
    const ingress: Gate = {
      call: (...call) => this.#gate.measure(() => grouped.call(...call)),
      isRepeatable: (call) => grouped.isRepeatable(call),
    };
    const fuzz = this.#options.replayEveryStep ? new ReplayFuzz() : null;
    const kill = (execution: string): void => void this.#admin.kill(execution).catch(() => undefined);
    const hostedSince = Date.now();
    const notifyWritten: ChangePoll["notifyWritten"] = (object, changed) =>
      this.#poll.notifyWritten(object, changed);
    return new Worker({
      services: [
        runHost(program, {
          settings,
          names,
          seals,
          admin: this.#admin,
          ingress,
          kept: this.#kept,
          executions,
          fuzz,
        }),
        ...program.sinks.map((definition) =>
          sinkHost(definition, { settings, names, seals, admin: this.#admin }),
        ),
        ...withContent(program.objects).map((definition) =>
          objectHost(definition, { settings, names, seals, kill, hostedSince, notifyWritten }),
        ),
      ],
      logger: sdkLog(this.#log, (invocation) => executions.launchOf(invocation)),
      log: this.#log,
      identityKeys: this.#options.identityKeys ?? [],
      path: toBuildPath(build.name),
    });
  }
}

/** Adds the content object, which large results of steps need. */
function withContent(objects: readonly ObjectDefinition[]): readonly ObjectDefinition[] {
  return objects.some(({ type }) => type === contentObject.type) ? objects : [...objects, contentObject];
}

function toHandlerSettings({ inactivityTimeoutMs, abortTimeoutMs }: RestateOptions): HandlerSettings {
  return {
    retryPolicy,
    inactivityTimeout: inactivityTimeoutMs ?? 60_000,
    abortTimeout: abortTimeoutMs ?? 24 * 60 * 60_000,
  };
}
