/** The column of every row that row-level security and every query use. */
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
  /** Settled and in doubt, in micro-dollars. */
  readonly spend: number;
  readonly in_doubt: number;
  readonly reserved: number;
  readonly max_cost: number | null;
  readonly name: string | null;
  readonly agents: number | null;
  readonly live_agents: number | null;
  readonly seq: number;
}

interface EventRow extends Row {
  readonly tree_id: string;
  readonly seq: number;
  readonly body: string;
}

interface SessionRow extends Row {
  readonly user_id: string;
  readonly session_id: string;
  readonly started_at: number;
  readonly updated_at: number;
  readonly agent_id: string | null;
  /** JSON, like title and metadata. */
  readonly channel: string | null;
  readonly title: string | null;
  readonly metadata: string;
  /** 1 or 0. */
  readonly is_named: number;
  readonly forked_session: string | null;
  readonly forked_entry: string | null;
  /** Number of positions given to entries. */
  readonly places: number;
}

/** The main branch is the empty text. */
interface LeafRow extends Row {
  readonly user_id: string;
  readonly session_id: string;
  readonly branch: string;
  readonly entry_id: string;
}

interface EntryRow extends Row {
  readonly user_id: string;
  readonly session_id: string;
  readonly entry_id: string;
  readonly place: number;
  readonly parent_id: string | null;
  readonly branch: string;
  readonly at: number;
  readonly body: string;
}

/** A row of memory. The owner is the name that `MemoryOwner.key` makes. */
interface MemoryRow extends Row {
  readonly owner: string;
}

interface FactRow extends MemoryRow {
  readonly key: string;
  readonly valid_from: number;
  readonly valid_to: number | null;
  readonly fact_id: string;
  readonly recorded_at: number;
  readonly body: string;
}

interface BlockRow extends MemoryRow {
  readonly name: string;
  readonly version: number;
  readonly updated_at: number;
  readonly body: string;
}

/** The item is the name that `MemoryItem.key` makes. */
interface TermRow extends MemoryRow {
  readonly term: string;
  readonly item: string;
  readonly kind: string;
  readonly at: number;
}

interface VectorRow extends MemoryRow {
  readonly item: string;
  readonly embedder: string;
  readonly kind: string;
  readonly at: number;
  /** Numbers of 32 bits, in base64. */
  readonly vector: string;
}

/** A completed write with its result. The empty id is the row that writers of an owner lock. */
interface WriteRow extends MemoryRow {
  readonly write_id: string;
  readonly body: string;
}

interface ApprovalRow extends Row {
  readonly approval_id: string;
  readonly tree_id: string;
  readonly requested_at: number;
  readonly body: string;
  /** Null while pending. */
  readonly decision: string | null;
  /** These three: null in a row of a worker from before migration 14. */
  readonly agent_type: string | null;
  readonly tool: string | null;
  readonly risk: string | null;
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

interface AuditCheckRow extends Row {
  readonly at: number;
  readonly body: string;
  readonly key_id: string;
  readonly hash: string;
}

interface ManifestRow extends Row {
  readonly step_id: string;
  readonly run_id: string;
  readonly tree_id: string;
  readonly attempt: string;
  readonly at: number;
  /** 1: it outlives the key of its tree. */
  readonly is_permanent: number;
  readonly body: string;
}

interface TextRow extends Row {
  readonly tree_id: string;
  readonly hash: string;
  readonly is_permanent: number;
  readonly body: string;
}

/** The tenant's own key has the empty tree. */
interface KeyRow extends Row {
  readonly tree_id: string;
  readonly key_id: string;
  /** In base64. Null: destroyed. */
  readonly wrapped: string | null;
  /** The part that was erased for good: 0 none, 1 the content of the tree, 2 also its records. */
  readonly erased: number;
}

/** Workers belong to no tenant: all are in the partition without a tenant. */
interface WorkerRow extends Row {
  readonly worker_id: string;
  readonly url: string;
  readonly expires_at: number;
  readonly lag_ms: number;
  readonly failed_writes: number;
  readonly reduced_trees: number;
}

/** A cached answer. An absent user is the empty text. */
interface CacheRow extends Row {
  readonly key: string;
  readonly user_id: string;
  readonly tree_id: string;
  readonly is_permanent: number;
  readonly at: number;
  readonly expires_at: number;
  /** Bytes of the body. */
  readonly size: number;
  readonly body: string;
}

/** Money of one hour, agent and model. Rows without a tree are sums of days; an absent user is the empty text. */
interface SpendRow extends Row {
  readonly hour: number;
  readonly tree_id: string;
  readonly user_id: string;
  readonly agent_type: string;
  readonly model: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly settled: number;
  readonly in_doubt: number;
  readonly runs: number;
  readonly stopped: number;
  readonly denied: number;
}

/**
 * Money of all trees. The kind `hour` and the kind `day` are by agent and model, the kind `user` is by day and user. Columns
 * that a kind does not tell apart are the empty text.
 */
interface SpendSumRow extends Omit<SpendRow, "tree_id"> {
  readonly kind: string;
}

/** The last event of a tree whose cost is rolled up. */
interface SpendTreeRow extends Row {
  readonly tree_id: string;
  readonly user_id: string;
  readonly seq: number;
  /** The events up to here are in rows without a tree. */
  readonly rolled_seq: number;
  readonly last_hour: number;
  readonly unsettled: number;
}

interface SpendCallRow extends Row {
  readonly tree_id: string;
  readonly attempt: string;
  readonly user_id: string;
  readonly run_id: string;
  readonly step_id: string | null;
  readonly agent_type: string;
  readonly model: string;
  readonly at: number;
  readonly tokens: number;
  readonly cost: number;
  readonly state: string;
}

interface LimitRow extends Row {
  readonly key: string;
  readonly body: string;
}

/** API keys are looked up before their tenant is known, so all are in the partition without a tenant. */
interface ApiKeyRow extends Row {
  readonly api_key_id: string;
  /** The tenant. Empty: none. */
  readonly owner: string;
  /** The user that it is bound to. Empty: none. */
  readonly user_id: string;
  readonly body: string;
}

interface WebhookRow extends Row {
  readonly webhook_id: string;
  readonly body: string;
}

/** Senders read the deliveries of all tenants at once, so all are in the partition without a tenant. */
interface WebhookDeliveryRow extends Row {
  /** The tenant. Empty: none. */
  readonly owner: string;
  readonly webhook_id: string;
  readonly delivery_id: string;
  readonly tree_id: string;
  readonly seq: number;
  readonly event: string;
  readonly at: number;
  readonly status: string;
  readonly attempts: number;
  readonly next_at: number;
  readonly error: string | null;
  readonly lease: string;
  readonly leased_until: number;
}

/** The tables, in both databases. Bodies are JSON as text: `jsonb` refuses some characters that a model may produce. */
export interface Tables {
  readonly reeve_run: RunRow;
  readonly reeve_event: EventRow;
  readonly reeve_session: SessionRow;
  readonly reeve_leaf: LeafRow;
  readonly reeve_entry: EntryRow;
  readonly reeve_memory_fact: FactRow;
  readonly reeve_memory_block: BlockRow;
  readonly reeve_memory_term: TermRow;
  readonly reeve_memory_vector: VectorRow;
  readonly reeve_memory_write: WriteRow;
  readonly reeve_approval: ApprovalRow;
  readonly reeve_audit: AuditRow;
  readonly reeve_audit_check: AuditCheckRow;
  readonly reeve_manifest: ManifestRow;
  readonly reeve_text: TextRow;
  readonly reeve_key: KeyRow;
  readonly reeve_worker: WorkerRow;
  readonly reeve_limit: LimitRow;
  readonly reeve_cache: CacheRow;
  readonly reeve_api_key: ApiKeyRow;
  readonly reeve_spend: SpendRow;
  readonly reeve_spend_sum: SpendSumRow;
  readonly reeve_spend_tree: SpendTreeRow;
  readonly reeve_spend_call: SpendCallRow;
  readonly reeve_webhook: WebhookRow;
  readonly reeve_webhook_delivery: WebhookDeliveryRow;
}
