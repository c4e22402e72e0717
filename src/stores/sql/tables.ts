/** What every row carries: row-level security, and every query, goes by it. */
interface Row {
  readonly tenant_id: string;
}

/** An absent user is the empty text: no id is. */
interface RunRow extends Row {
  readonly run_id: string;
  readonly tree_id: string;
  readonly parent_run_id: string | null;
  readonly agent_id: string;
  readonly agent_type: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly stop_reason: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly spend: number;
  readonly seq: number;
}

interface EventRow extends Row {
  readonly tree_id: string;
  readonly seq: number;
  readonly body: string;
}

interface SessionRow extends Row {
  readonly session_id: string;
  readonly user_id: string;
  readonly started_at: number;
  readonly forked_session: string | null;
  readonly forked_entry: string | null;
  /** How many places were given to entries. */
  readonly places: number;
}

/** The main branch is the empty text. */
interface LeafRow extends Row {
  readonly session_id: string;
  readonly branch: string;
  readonly entry_id: string;
}

interface EntryRow extends Row {
  readonly session_id: string;
  readonly entry_id: string;
  readonly place: number;
  readonly parent_id: string | null;
  readonly branch: string;
  readonly at: number;
  readonly body: string;
}

interface FactRow extends Row {
  readonly user_id: string;
  readonly key: string;
  readonly valid_from: number;
  readonly valid_to: number | null;
  readonly value: string;
}

interface ApprovalRow extends Row {
  readonly approval_id: string;
  readonly tree_id: string;
  readonly requested_at: number;
  readonly body: string;
  /** Null while pending. */
  readonly decision: string | null;
}

interface AuditRow extends Row {
  readonly link: number;
  readonly at: number;
  readonly kind: string;
  readonly data: string;
  readonly source: string;
  readonly key_id: string;
  readonly previous: string;
  readonly hash: string;
}

interface ManifestRow extends Row {
  readonly step_id: string;
  readonly run_id: string;
  readonly tree_id: string;
  readonly at: number;
  readonly parts: string;
}

/** The tenant's own key has the empty tree. */
interface KeyRow extends Row {
  readonly tree_id: string;
  readonly key_id: string;
  /** In base64. Null: destroyed. */
  readonly wrapped: string | null;
}

/** Workers belong to no tenant: all of them are in the partition of those without one. */
interface WorkerRow extends Row {
  readonly worker_id: string;
  readonly url: string;
  readonly expires_at: number;
}

interface LimitRow extends Row {
  readonly key: string;
  readonly body: string;
}

/** API keys are found before anybody knows whose they are: all of them are in the partition of those without a tenant. */
interface ApiKeyRow extends Row {
  readonly api_key_id: string;
  /** Empty: of nobody in particular. */
  readonly owner: string;
  readonly body: string;
}

/** The tables, in both databases. Bodies are JSON as text: a `jsonb` would refuse some of what a model may say. */
export interface Tables {
  readonly reeve_run: RunRow;
  readonly reeve_event: EventRow;
  readonly reeve_session: SessionRow;
  readonly reeve_leaf: LeafRow;
  readonly reeve_entry: EntryRow;
  readonly reeve_fact: FactRow;
  readonly reeve_approval: ApprovalRow;
  readonly reeve_audit: AuditRow;
  readonly reeve_manifest: ManifestRow;
  readonly reeve_key: KeyRow;
  readonly reeve_worker: WorkerRow;
  readonly reeve_limit: LimitRow;
  readonly reeve_api_key: ApiKeyRow;
}
