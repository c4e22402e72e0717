import {
  type ApprovalDecision,
  type ApprovalRecord,
  type AuditHead,
  type CancelReceipt,
  Json,
  type Obstacle,
  type Page,
  type Priority,
  type RunId,
  type RunRecord,
  type RunResult,
  type RunStatus,
  type TreeId,
} from "#kernel";
import type { AuditVerdict, RunLedger, StartOptions, TopUpAmounts } from "#runtime";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Server } from "./find-server.ts";
import { type SentEvent, sentEvents } from "./server-sent-events.ts";

/** Where a run stands. */
export interface Standing {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly status: RunStatus;
}

/** How a tree is started over HTTP. */
export type StartBody = Pick<
  StartOptions,
  "id" | "user" | "session" | "budget" | "spawn" | "priority" | "deadlineS"
> & { readonly agent: string; readonly input: string };

interface StreamOptions {
  readonly after: number;
  readonly deltas: boolean;
  readonly signal: AbortSignal;
}

interface Question extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks a Reeve server. Every method throws a {@link CliError}. */
export class ReeveClient {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  get url(): string {
    return this.#server.url;
  }

  async agents(): Promise<readonly { readonly name: string; readonly description: string | null }[]> {
    const { items } = Json.as<{ items: { name: string; description: string | null }[] }>(
      await this.#get("/agents"),
    );
    return items;
  }

  async start(body: StartBody): Promise<Pick<Standing, "treeId" | "runId">> {
    return Json.as(await this.#post("/runs", body));
  }

  async runs(query: Readonly<Record<string, string>>): Promise<Page<RunRecord>> {
    return Json.as(await this.#get(`/runs?${new URLSearchParams(query).toString()}`));
  }

  /** A worker answers: the signal says how long that may take. */
  async standing(run: string, signal: AbortSignal | null = null): Promise<Standing> {
    const response = await this.#ask(`/runs/${encodeURIComponent(run)}`, { signal });
    return Json.as(Json.of(await response.json()));
  }

  /** What keeps it from going on; null: nothing. */
  async obstacle(run: string): Promise<Obstacle | null> {
    return Json.as(await this.#get(`/runs/${encodeURIComponent(run)}/obstacle`));
  }

  /** Null while it lives. */
  async result(run: string): Promise<RunResult | null> {
    return Json.as(await this.#get(`/runs/${encodeURIComponent(run)}/result`));
  }

  /** Every run of its tree, as the store has them. */
  async tree(run: string): Promise<readonly RunRecord[]> {
    const { items } = Json.as<{ items: readonly RunRecord[] }>(
      await this.#get(`/runs/${encodeURIComponent(run)}/tree`),
    );
    return items;
  }

  async ledger(run: string): Promise<RunLedger> {
    return Json.as(await this.#get(`/runs/${encodeURIComponent(run)}/ledger`));
  }

  async approvals(query: Readonly<Record<string, string>>): Promise<Page<ApprovalRecord>> {
    return Json.as(await this.#get(`/approvals?${new URLSearchParams(query).toString()}`));
  }

  async decide(approval: string, verb: "approve" | "deny", body: object): Promise<ApprovalDecision> {
    return Json.as(await this.#post(`/approvals/${encodeURIComponent(approval)}/${verb}`, body));
  }

  async pause(run: string): Promise<void> {
    await this.#act(run, "pause", {});
  }

  async resume(run: string): Promise<void> {
    await this.#act(run, "resume", {});
  }

  async cancel(run: string, reason: string): Promise<CancelReceipt> {
    return Json.as(await this.#act(run, "cancel", { reason }));
  }

  async signal(run: string, name: string, data: Json): Promise<void> {
    await this.#act(run, "signal", { name, data });
  }

  async topUp(run: string, amounts: TopUpAmounts): Promise<void> {
    await this.#act(run, "top-up", amounts);
  }

  async reprioritize(run: string, priority: Priority): Promise<void> {
    await this.#act(run, "reprioritize", { priority });
  }

  /** `head`: one that the chain once had. */
  async verifyAudit(head?: AuditHead): Promise<AuditVerdict> {
    return Json.as(await this.#post("/audit/verify", head ? { head } : {}));
  }

  /** What the tree's stream says above number `after`, over one connection: first of all that it is `open`. */
  async *stream(run: string, { after, deltas, signal }: StreamOptions): AsyncGenerator<SentEvent, void> {
    const path = `/runs/${encodeURIComponent(run)}/events?deltas=${deltas}`;
    const headers = { accept: "text/event-stream", "last-event-id": String(after) };
    const { body } = await this.#ask(path, { headers, signal });
    yield { event: "open", data: "" };
    if (body) yield* sentEvents(body);
  }

  #act(run: string, verb: string, body: object): Promise<Json> {
    return this.#post(`/runs/${encodeURIComponent(run)}/${verb}`, body);
  }

  async #get(path: string): Promise<Json> {
    return Json.of(await (await this.#ask(path, {})).json());
  }

  async #post(path: string, body: object): Promise<Json> {
    const headers = { "content-type": "application/json" };
    const response = await this.#ask(path, { method: "POST", headers, body: JSON.stringify(body) });
    return Json.of(await response.json());
  }

  async #ask(path: string, init: Question): Promise<Response> {
    const { url, key } = this.#server;
    const headers = { ...init.headers, ...(key !== null && { authorization: `Bearer ${key}` }) };
    const response = await fetch(`${url}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      throw unreachable(url);
    });
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

function unreachable(url: string): CliError {
  return new CliError(`no server answers at ${url}`, {
    code: "unreachable",
    exitCode: ExitCode.unreachable,
    hint: "start one with `reeve dev agents.ts`, or say where it is with --url or REEVE_URL",
  });
}

async function refusal(response: Response): Promise<CliError> {
  const body = Json.of(await response.json().catch(() => ({})));
  const { error } = Json.as<{ error?: { code?: string; message?: string; session?: string } }>(body);
  const code = error?.code ?? `http-${response.status}`;
  return new CliError(error?.message ?? `the server said ${response.status}`, {
    code,
    exitCode: exitCodeOf(response.status),
    hint: hintOf(code, error?.session ?? "<session>"),
  });
}

function hintOf(code: string, session: string): string | null {
  if (code === "unauthorized") return "give a key with REEVE_API_KEY";
  if (code === "session-busy") return `another tree has its turn: reeve runs --session ${session}`;
  return code === "no-answer" ? "no worker is there: start one, such as `reeve dev agents.ts`" : null;
}

function exitCodeOf(status: number): number {
  if (status === 404) return ExitCode.notFound;
  if (status === 400) return ExitCode.usage;
  if (status === 502 || status === 503) return ExitCode.unreachable;
  return status < 500 ? ExitCode.refused : ExitCode.failure;
}
