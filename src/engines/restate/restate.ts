import type { Engine, EngineProgram, Json, ObjectAddress } from "#kernel";
import { Admin } from "./admin.ts";
import { ChangePoll } from "./change-poll.ts";
import { type HandlerSettings, retryPolicy } from "./handler-settings.ts";
import { Ingress } from "./ingress.ts";
import { KeptSteps } from "./kept-steps.ts";
import { objectHost } from "./object-host.ts";
import { ReplayFuzz } from "./replay-fuzz.ts";
import { runHost } from "./run-host.ts";
import { ServiceNames } from "./service-names.ts";
import { Worker } from "./worker.ts";

/** Which Restate, and how to behave there. */
export interface RestateOptions {
  /** Where objects are called: `http://127.0.0.1:8080`. It has no authentication: never expose it. */
  readonly ingress: string;
  /** Where workers register: `http://127.0.0.1:9070`. It has no authentication: never expose it. */
  readonly admin: string;
  /** Keeps programs apart that share a server; those of one name are one program. Default `reeve`. */
  readonly namespace?: string;
  /** A run that waits this long leaves the worker's memory. 0 makes every wait a replay. Default 1 minute. */
  readonly inactivityTimeoutMs?: number;
  /** A step that takes longer is aborted and executed again: keep it above the longest. Default 24 hours. */
  readonly abortTimeoutMs?: number;
  /** How long a call waits for a server that does not answer. Default 30 seconds. */
  readonly patienceMs?: number;
  /** How long the closures of a lost execution go on, for it to come back to them. Default 1 minute. */
  readonly keptMs?: number;
  /** Lets several workers of one program share one port of this machine (not on macOS). Default false. */
  readonly sharePort?: boolean;
  /** Throw every execution away after each operation and replay it, to find code that cannot be. Default false. */
  readonly fuzz?: boolean;
  /** Told about failures that Restate will retry. Default: standard error. */
  readonly log?: (line: string) => void;
}

/** Executes runs on a Restate server: they survive every process involved. */
export function restate(options: RestateOptions): Engine {
  return new RestateEngine(options);
}

class RestateEngine implements Engine {
  readonly name = "restate";
  readonly #options: RestateOptions;
  readonly #names: ServiceNames;
  readonly #ingress: Ingress;
  readonly #kept: KeptSteps;
  readonly #poll = new ChangePoll();
  #program: EngineProgram | null = null;
  #methods: ReadonlySet<string> = new Set();
  #worker: Worker | null = null;

  constructor(options: RestateOptions) {
    this.#options = options;
    this.#names = new ServiceNames(options.namespace ?? "reeve");
    this.#ingress = new Ingress({
      url: options.ingress,
      names: this.#names,
      patienceMs: options.patienceMs ?? 30_000,
    });
    this.#kept = new KeptSteps({ keptMs: options.keptMs ?? 60_000 });
  }

  define(program: EngineProgram): void {
    const taken = program.objects.find(({ type }) => this.#names.object(type) === this.#names.run);
    if (taken) throw new TypeError(`${taken.type} is not a name for objects here`);
    this.#program = program;
    this.#methods = new Set(
      program.objects.flatMap(({ type, methods }) =>
        Object.keys(methods).map((method) => `${type}/${method}`),
      ),
    );
  }

  async serve({ port }: { readonly port: number }): Promise<void> {
    if (this.#program === null) throw new TypeError("define the program before serving it");
    if (this.#worker !== null) throw new TypeError("this engine serves already");
    const names = this.#names;
    const admin = new Admin(this.#options.admin);
    const settings: HandlerSettings = {
      retryPolicy,
      inactivityTimeout: this.#options.inactivityTimeoutMs ?? 60_000,
      abortTimeout: this.#options.abortTimeoutMs ?? 24 * 60 * 60_000,
    };
    this.#worker = await Worker.start({
      services: [
        runHost(this.#program, {
          settings,
          names,
          admin,
          ingress: this.#ingress,
          kept: this.#kept,
          fuzz: this.#options.fuzz ? new ReplayFuzz() : null,
        }),
        ...this.#program.objects.map((definition) =>
          objectHost(definition, {
            settings,
            names,
            written: (object, parts) => this.#poll.written(object, parts),
          }),
        ),
      ],
      admin,
      port,
      sharePort: this.#options.sharePort ?? false,
      log: this.#options.log ?? ((line) => void process.stderr.write(`${line}\n`)),
    });
  }

  async call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    if (this.#methods.has(`${to.type}/${method}`)) this.#poll.reset(to);
    return this.#ingress.call(to, method, argument);
  }

  changed(object: ObjectAddress, signal: AbortSignal, name?: string): Promise<void> {
    return this.#poll.changed(object, signal, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#poll.close();
    await this.#worker?.close();
    this.#kept.close();
    this.#ingress.close();
  }
}
