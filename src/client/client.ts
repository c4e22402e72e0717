import { Json, type ApprovalDecision, type SentApproval, type Page, type RunRecord } from "#kernel";
import { ClientMemory } from "./client-memory.ts";
import { ClientRun, type StartedRun } from "./client-run.ts";
import { ClientSchedules } from "./client-schedules.ts";
import { ClientSessions } from "./client-sessions.ts";
import { ClientSwitches } from "./client-switches.ts";
import { ClientWebhooks } from "./client-webhooks.ts";
import { Http, type HttpOptions } from "./http.ts";
import type { SentInput } from "./sent-input.ts";
import type { StartSettings } from "./start-settings.ts";

/** An answer to a question of a run. */
export interface ApprovalSettings {
  /** Reason, for the audit. */
  readonly reason?: string;
  /** Hash of the arguments that were shown. A decision about other arguments is refused. */
  readonly hash?: string;
}

/** The server to ask, and the key to show. */
export type ClientOptions = Omit<HttpOptions, "toError">;

/** Creates a client of a Reeve server, for browsers and Node. It needs only `fetch`. */
export function createClient(options: ClientOptions): Client {
  return new Client(new Http(options));
}

/** A Reeve server. Every method throws a {@link ClientError}. */
export class Client {
  readonly #http: Http;
  /** Conversations with agents. */
  readonly sessions: ClientSessions;
  /** Memory of agents. */
  readonly memory: ClientMemory;
  /** Disables tenants, agents and tools. */
  readonly switches: ClientSwitches;
  /** Trees that start by the clock. */
  readonly schedules: ClientSchedules;
  /** Webhooks: URLs that receive events of runs. */
  readonly webhooks: ClientWebhooks;

  constructor(http: Http) {
    this.#http = http;
    this.sessions = new ClientSessions(http);
    this.memory = new ClientMemory(http);
    this.switches = new ClientSwitches(http);
    this.schedules = new ClientSchedules(http);
    this.webhooks = new ClientWebhooks(http);
  }

  /** Starts a tree. `Output`: `OutputOf<typeof agent>`, if the agent's type is known. */
  async start<Output = Json>(
    agent: string,
    input: SentInput,
    settings: StartSettings = {},
  ): Promise<ClientRun<Output>> {
    const started = Json.as<StartedRun>(await this.#http.post("/runs", { ...settings, agent, input }));
    return new ClientRun(this.#http, started.runId);
  }

  /** The run with this id, or the root of the tree with this id. */
  run<Output = Json>(id: string): ClientRun<Output> {
    return new ClientRun(this.#http, id);
  }

  /** Runs, newest first. */
  runs(query: Readonly<Record<string, string>> = {}): Promise<Page<RunRecord>> {
    return this.#http.list(`/runs?${new URLSearchParams(query).toString()}`);
  }

  /** Lists approval questions. */
  approvals(query: Readonly<Record<string, string>> = {}): Promise<Page<SentApproval>> {
    return this.#http.list(`/approvals?${new URLSearchParams(query).toString()}`);
  }

  /** Approves a call that waits for approval. */
  approve(approval: string, settings: ApprovalSettings = {}): Promise<ApprovalDecision> {
    return this.#decide(approval, "approve", settings);
  }

  /** Denies a call. The model is informed. */
  deny(approval: string, settings: ApprovalSettings = {}): Promise<ApprovalDecision> {
    return this.#decide(approval, "deny", settings);
  }

  /** Answers a question: with a text, one of its choices, or an object with the fields of its form. */
  answer(
    approval: string,
    answer: Json,
    settings: Omit<ApprovalSettings, "remember"> = {},
  ): Promise<ApprovalDecision> {
    return this.#decide(approval, "edit", { ...settings, arguments: answer });
  }

  async #decide(approval: string, verb: string, body: object): Promise<ApprovalDecision> {
    return Json.as(await this.#http.post(`/approvals/${encodeURIComponent(approval)}/${verb}`, body));
  }
}
