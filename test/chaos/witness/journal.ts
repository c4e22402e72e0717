import { Json } from "reeve";
import type { RestateServer } from "reeve/engines/restate";

/** One step in Restate's own journal. */
export interface JournalEntry {
  /** Restate's name of the execution. */
  readonly execution: string;
  /** Its place in the journal. */
  readonly index: number;
  /** The step's name: kind and number. */
  readonly name: string;
  /** When its result was appended, once for each time it was. Empty: it has none. */
  readonly results: readonly number[];
}

interface Row {
  readonly id: string;
  readonly index: number;
  readonly entry_type: string;
  readonly name?: string;
  readonly appended_at: string;
  readonly entry_lite_json: string;
}

/** Every step of every execution, from Restate's own tables. */
export async function readJournal(
  server: RestateServer,
  namespace: string,
): Promise<readonly JournalEntry[]> {
  const columns = "j.id, j.index, j.entry_type, j.name, j.appended_at, j.entry_lite_json";
  const rows = await query<Row>(
    server,
    `SELECT ${columns} FROM sys_journal j JOIN sys_invocation i ON j.id = i.id
     WHERE i.target_service_name = '${namespace}.run' AND j.entry_type IN ('Command: Run', 'Notification: Run')`,
  );
  const results = new Map<string, number[]>();
  for (const row of rows) {
    if (row.entry_type !== "Notification: Run") continue;
    const key = `${row.id} ${completionOf(row)}`;
    results.set(key, [...(results.get(key) ?? []), Date.parse(row.appended_at)]);
  }
  return rows
    .filter((row) => row.entry_type === "Command: Run")
    .map((row) => ({
      execution: row.id,
      index: row.index,
      name: row.name ?? "",
      results: results.get(`${row.id} ${completionOf(row)}`) ?? [],
    }))
    .toSorted((one, other) => one.execution.localeCompare(other.execution) || one.index - other.index);
}

/** Returns executions that Restate has paused for inspection. */
export async function readStopped(server: RestateServer, namespace: string): Promise<readonly string[]> {
  const rows = await query<{ readonly id: string; readonly target: string }>(
    server,
    `SELECT id, target FROM sys_invocation WHERE status = 'paused' AND starts_with(target, '${namespace}.')`,
  );
  return rows.map(({ id, target }) => `${target} ${id}`);
}

function completionOf({ entry_lite_json: json }: Row): number {
  const match = /"completion_id":(\d+)|"CompletionId":(\d+)/.exec(json);
  return Number(match?.[1] ?? match?.[2]);
}

async function query<T>({ admin }: RestateServer, text: string): Promise<readonly T[]> {
  const answer = await fetch(`${admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: text }),
  });
  if (!answer.ok) throw new Error(`Restate answered ${answer.status} to a query: ${await answer.text()}`);
  return Json.as<{ readonly rows: readonly T[] }>(Json.of(await answer.json())).rows;
}
