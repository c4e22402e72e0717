import { randomUUID } from "node:crypto";
import {
  type ApprovalDecision,
  type SentApproval,
  type AuditHead,
  type CancelReceipt,
  isJsonObject,
  Json,
  type Blocker,
  type Page,
  type Priority,
  type RunId,
  type RunRecord,
  type SentResult,
  type RunStatus,
  type SessionHead,
  type TreeId,
  type Usage,
} from "#kernel";
import type {
  AuditVerdict,
  ConversationMessage,
  RunLedger,
  StartOptions,
  TenantBudget,
  TenantBudgetView,
  TopUpAmounts,
} from "#runtime";
import {
  type ClientError,
  ClientMemory,
  ClientSchedules,
  ClientSwitches,
  ClientWebhooks,
  Http,
  SentInput,
  type SentEvent,
  type StreamOptions,
} from "#client";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Server } from "./find-server.ts";

/** An agent that can be started. */
export interface AgentEntry {
  readonly name: string;
  readonly description: string | null;
  readonly version: string;
}

/** The state of a run. */
export interface RunState {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly status: RunStatus;
}

/** The body of a request that starts a tree. */
export type StartBody = Pick<
  StartOptions,
  "id" | "user" | "session" | "onBusy" | "after" | "budget" | "spawn" | "priority" | "deadlineS"
> & { readonly agent: string; readonly input: SentInput };

/** Asks a Reeve server. Every method throws a {@link CliError}. */
export class ReeveClient {
  readonly #http: Http;
  /** Memory of agents. */
  readonly memory: ClientMemory;
  /** Disables tenants, agents and tools. */
  readonly switches: ClientSwitches;
  /** Trees that start by the clock. */
  readonly schedules: ClientSchedules;
  /** Webhooks: URLs that receive events of runs. */
  readonly webhooks: ClientWebhooks;

  constructor({ url, key }: Server) {
    this.#http = new Http({ url, key, toError: toCliError });
    this.memory = new ClientMemory(this.#http);
    this.switches = new ClientSwitches(this.#http);
    this.schedules = new ClientSchedules(this.#http);
    this.webhooks = new ClientWebhooks(this.#http);
  }

  get url(): string {
    return this.#http.url;
  }

  /**
   * Returns the address of a dashboard page, such as `/runs/books`. Null if the server has no dashboard or does not
   * report one.
   */
  async screenAddress(path: string): Promise<string | null> {
    const me = await this.#http.get("/me").catch(() => null);
    const page = isJsonObject(me) ? me["page"] : null;
    return typeof page === "string" ? `${new URL(page, this.url).href}${path}` : null;
  }

  async agents(): Promise<readonly AgentEntry[]> {
    return (await this.#http.list<AgentEntry>("/agents")).items;
  }

  async start(body: StartBody): Promise<Pick<RunState, "treeId" | "runId">> {
    return Json.as(await this.#http.post("/runs", body));
  }

  async runs(query: Readonly<Record<string, string>>): Promise<Page<RunRecord>> {
    return this.#http.list(`/runs?${new URLSearchParams(query).toString()}`);
  }

  /** Returns the state of a run. A worker answers it; the signal limits how long that may take. */
  async runState(run: string, signal: AbortSignal | null = null): Promise<RunState> {
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(run)}`, { signal }));
  }

  /** Returns what blocks the run. Null if nothing does. */
  async blocker(run: string): Promise<Blocker | null> {
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(run)}/blocker`));
  }

  /** Returns the result. Null while the run is live. */
  async result(run: string): Promise<SentResult | null> {
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(run)}/result`));
  }

  /** Every run of its tree, as the store has them. */
  async tree(run: string): Promise<readonly RunRecord[]> {
    return (await this.#http.list<RunRecord>(`/runs/${encodeURIComponent(run)}/tree`)).items;
  }

  async ledger(run: string): Promise<RunLedger> {
    return Json.as(await this.#http.get(`/runs/${encodeURIComponent(run)}/ledger`));
  }

  async approvals(query: Readonly<Record<string, string>>): Promise<Page<SentApproval>> {
    return this.#http.list(`/approvals?${new URLSearchParams(query).toString()}`);
  }

  async sessions(query: Readonly<Record<string, string>>): Promise<Page<SessionHead>> {
    return this.#http.list(`/sessions?${new URLSearchParams(query).toString()}`);
  }

  /** The messages of a conversation, newest first. */
  async messages(
    session: string,
    query: Readonly<Record<string, string>>,
  ): Promise<Page<ConversationMessage>> {
    const search = new URLSearchParams(query).toString();
    return this.#http.list(`/sessions/${encodeURIComponent(session)}/messages?${search}`);
  }

  /** Compacts the oldest part of a conversation. The output of the run is the entry with the summary, or null. */
  async compact(session: string, body: Pick<StartBody, "user">): Promise<Pick<RunState, "treeId" | "runId">> {
    return Json.as(await this.#http.post(`/sessions/${encodeURIComponent(session)}/compaction`, body));
  }

  async decide(approval: string, verb: "approve" | "deny" | "edit", body: object): Promise<ApprovalDecision> {
    return Json.as(await this.#http.post(`/approvals/${encodeURIComponent(approval)}/${verb}`, body));
  }

  async pause(run: string): Promise<void> {
    await this.#http.act(run, "pause", { id: randomUUID() });
  }

  async resume(run: string): Promise<void> {
    await this.#http.act(run, "resume", { id: randomUUID() });
  }

  async cancel(run: string, reason: string): Promise<CancelReceipt> {
    return Json.as(await this.#http.act(run, "cancel", { reason }));
  }

  async signal(run: string, name: string, data: Json): Promise<void> {
    await this.#http.act(run, "signal", { name, data, id: randomUUID() });
  }

  async steer(run: string, input: SentInput): Promise<void> {
    await this.#http.act(run, "steer", { ...SentInput.fields(input), id: randomUUID() });
  }

  async followUp(run: string, input: SentInput): Promise<void> {
    await this.#http.act(run, "follow-up", { ...SentInput.fields(input), id: randomUUID() });
  }

  /** Returns false if the call was not in doubt. */
  async reconcile(run: string, attempt: string, usage: Usage): Promise<boolean> {
    const answer = await this.#http.act(run, "reconcile", { attempt, usage });
    return isJsonObject(answer) && answer["reconciled"] === true;
  }

  async topUp(run: string, amounts: TopUpAmounts): Promise<void> {
    await this.#http.act(run, "top-up", { ...amounts, id: randomUUID() });
  }

  async reprioritize(run: string, priority: Priority): Promise<void> {
    await this.#http.act(run, "reprioritize", { priority, id: randomUUID() });
  }

  /** The budget of the key's tenant, or of one of its users; null: none is set. */
  async budget(user?: string): Promise<TenantBudgetView | null> {
    const query = user === undefined ? "" : `?${new URLSearchParams({ user }).toString()}`;
    return Json.as(await this.#http.get(`/budget${query}`));
  }

  async setBudget(budget: TenantBudget & { readonly user?: string }): Promise<TenantBudgetView> {
    return Json.as(await this.#http.post("/budget", budget));
  }

  async removeBudget(user?: string): Promise<void> {
    await this.#http.post("/budget/remove", user === undefined ? {} : { user });
  }

  /** `head`: one that the chain once had. */
  async verifyAudit(head?: AuditHead): Promise<AuditVerdict> {
    return Json.as(await this.#http.post("/audit/verify", head ? { head } : {}));
  }

  /** The messages of a tree's stream above number `after`, over one connection: the first is `open`. */
  stream(run: string, options: StreamOptions): AsyncGenerator<SentEvent, void> {
    return this.#http.stream(run, options);
  }
}

/** Adds the exit code and the remedy to a request that failed. */
function toCliError(error: ClientError): CliError {
  const { code, message, status } = error;
  return new CliError(message, { code, exitCode: exitCodeOf(code, status), hint: hintOf(error) });
}

function hintOf({ code, message, session }: ClientError): string | null {
  switch (code) {
    case "not-found":
      return message.startsWith("no run ") ? "list the runs that your key may read: reeve runs" : null;
    case "unreachable":
      return "start one with `reeve dev agents.ts`, or set --url or REEVE_URL";
    case "not-reeve":
      return "set --url or REEVE_URL to the address of Reeve, or use another port: `reeve dev --port 7434`";
    case "unauthorized":
      return "set REEVE_API_KEY";
    case "session-busy":
      return `another tree has its turn: reeve runs --session ${session ?? "<session>"}`;
    case "no-answer":
      return "no worker is running: start one, for example `reeve dev agents.ts`";
    default:
      return null;
  }
}

function exitCodeOf(code: string, status: number | null): number {
  if (status === null || code === "not-reeve") return ExitCode.unreachable;
  if (status === 404) return ExitCode.notFound;
  if (status === 400) return ExitCode.usage;
  if (status === 502 || status === 503) return ExitCode.unreachable;
  return status < 500 ? ExitCode.refused : ExitCode.failure;
}
