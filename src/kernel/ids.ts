declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

/** The id of one `start()`: a root run and all its descendants. Chosen by the caller or created by the runtime. */
export type TreeId = Brand<"TreeId">;
/** One agent's execution inside a tree. Carries its tree, so that a run can be found from its id alone. */
export type RunId = Brand<"RunId">;
/** An agent's address: its type and, where several share a type, a key. */
export type AgentId = Brand<"AgentId">;
/** One conversation: long-lived, many trees. */
export type SessionId = Brand<"SessionId">;
/** A hard partition of everything Reeve keeps. */
export type TenantId = Brand<"TenantId">;
/** A person inside a tenant. */
export type UserId = Brand<"UserId">;
/** One journaled effect of a run, named by its place in the run. */
export type StepId = Brand<"StepId">;
/** One try of one step. Fresh for every execution, so a lost try can be distinguished from its successor. */
export type AttemptId = Brand<"AttemptId">;
/** One message between runs, or from outside. Delivered at most once per mailbox. */
export type MessageId = Brand<"MessageId">;
/** One event of a tree's stream. Stable across crashes and replays. */
export type EventId = Brand<"EventId">;
/** One entry of a session. */
export type EntryId = Brand<"EntryId">;
/** A named channel inside a tree. */
export type TopicId = Brand<"TopicId">;
/** One question to a person. */
export type ApprovalId = Brand<"ApprovalId">;

const runMark = "~";
const printable = /^[\x21-\x7e]{1,128}$/;
/** The id of an entry may contain that of its run, and so that of its tree. */
const maxEntryIdLength = 200;

function id<Id extends string>(text: string, ...forbidden: readonly string[]): Id {
  if (!printable.test(text) || forbidden.some((mark) => text.includes(mark))) {
    const rest = forbidden.length === 0 ? "" : ` without ${forbidden.join(" ")}`;
    throw new TypeError(`invalid id ${JSON.stringify(text)}: use 1 to 128 printable characters${rest}`);
  }
  return text as Id;
}

/** Constructors of {@link TreeId}. */
export const TreeId = {
  /** @throws TypeError unless `text` has 1 to 128 printable characters and neither `~` nor `/`. */
  of: (text: string): TreeId => id(text, runMark, "/"),
} as const;

/** Constructors and readers of {@link RunId}. */
export const RunId = {
  /** Returns the id of the `number`-th run of a tree. The root is number 0. */
  of: (tree: TreeId, number: number): RunId => `${tree}${runMark}${number}` as RunId,
  /** Reads an id that came from outside. @throws TypeError if it is not a run id. */
  parse: (text: string): RunId => {
    const [tree = "", number = "", ...more] = text.split(runMark);
    if (more.length > 0 || !/^\d{1,9}$/.test(number))
      throw new TypeError(`invalid run id ${JSON.stringify(text)}`);
    return RunId.of(TreeId.of(tree), Number(number));
  },
  /** Whether an id is a run's. */
  is: (text: string): text is RunId => /^[^~]+~\d{1,9}$/.test(text),
  /** Returns the root run of a tree. */
  root: (tree: TreeId): RunId => RunId.of(tree, 0),
  /** Whether a run is the root of its tree. */
  isRoot: (run: RunId): boolean => RunId.number(run) === 0,
  /** Returns the number of a run in its tree. */
  number: (run: RunId): number => Number(run.slice(run.indexOf(runMark) + 1)),
  /** Returns the tree of a run. */
  tree: (run: RunId): TreeId => run.slice(0, run.indexOf(runMark)) as TreeId,
} as const;

/** Constructors and readers of {@link AgentId}. */
export const AgentId = {
  /** Returns an agent's id. `key` distinguishes several agents of one type. @throws TypeError on an invalid name. */
  of: (type: string, key?: string): AgentId =>
    (key === undefined ? id(type, "/", runMark) : `${id(type, "/", runMark)}/${id(key, runMark)}`) as AgentId,
  /** Reads an id that came from outside. @throws TypeError if it is not an agent's. */
  parse: (text: string): AgentId => {
    const [type = "", ...key] = text.split("/");
    return AgentId.of(type, key.length === 0 ? undefined : key.join("/"));
  },
  /** Returns the type, under which the runtime knows the agent's code. */
  type: (agent: AgentId): string => agent.split("/", 1)[0] ?? agent,
} as const;

/** Constructors of {@link SessionId}. */
export const SessionId = { of: (text: string): SessionId => id(text) } as const;
/** Constructors of {@link TenantId}. */
export const TenantId = {
  /** @throws TypeError also on `-`, which means no tenant. */
  of: (text: string): TenantId => id(text === "-" ? "" : text, "/"),
} as const;
/** Constructors of {@link UserId}. */
export const UserId = { of: (text: string): UserId => id(text) } as const;
/** Constructors of {@link AttemptId}. */
export const AttemptId = { of: (text: string): AttemptId => id(text) } as const;
/** Constructors of {@link MessageId}. */
export const MessageId = { of: (text: string): MessageId => id(text) } as const;
/** Constructors of {@link EntryId}. */
export const EntryId = {
  /** @throws TypeError unless `text` has 1 to 200 printable characters. */
  of: (text: string): EntryId => {
    if (!EntryId.is(text))
      throw new TypeError(
        `invalid id ${JSON.stringify(text)}: use 1 to ${maxEntryIdLength} printable characters`,
      );
    return text;
  },
  is: (text: string): text is EntryId => text.length <= maxEntryIdLength && /^[\x21-\x7e]+$/.test(text),
  /** Returns the id of the `n`-th entry that a run writes. */
  ofRun: (run: RunId, n: number): EntryId => `${run}.${n}` as EntryId,
  /** Returns the tree whose run wrote an entry, by its id. Null: the id is not of that form. */
  tree: (entry: EntryId): TreeId | null =>
    (/^[^~/]{1,128}(?=~\d+\.)/.exec(entry)?.[0] ?? null) as TreeId | null,
  /** Returns the id of the compaction of everything up to an entry. */
  compactionOf: (entry: EntryId): EntryId => `${entry}.c` as EntryId,
  /** Returns the id of the mark that the conversation up to an entry is reviewed. */
  reviewOf: (entry: EntryId): EntryId => `${entry}.r` as EntryId,
} as const;
/** Constructors and readers of {@link ApprovalId}. */
export const ApprovalId = {
  /** Returns the id of the `round`-th question, from 0, about a step. */
  of: (step: StepId, round: number): ApprovalId => `${step}${round === 0 ? "" : `.${round}`}` as ApprovalId,
  /** Reads an id that came from outside. @throws TypeError if it is not an approval's. */
  parse: (text: string): ApprovalId => {
    if (!/^[^~]{1,128}~\d{1,9}:[\w@-]{1,80}:\d{1,9}(\.\d{1,9})?$/.test(text))
      throw new TypeError(`invalid approval id ${JSON.stringify(text.slice(0, 200))}`);
    TreeId.of(text.slice(0, text.indexOf(runMark)));
    return text as ApprovalId;
  },
  /** Returns the tree of an approval. */
  tree: (approval: ApprovalId): TreeId => approval.slice(0, approval.indexOf(runMark)) as TreeId,
} as const;

/** Constructors and readers of {@link StepId}. */
export const StepId = {
  /**
   * Returns the id of the `number`-th step of a run, with its kind for people who read journals. It holds no content.
   */
  of: (run: RunId, kind: string, number: number): StepId => `${run}:${kind}:${number}` as StepId,
  /** Returns the kind of a step, or of the step in which a call is made: `model`, `tool`, `guardrail`. */
  kind: (step: StepId): string => step.split(":").at(-2) ?? "",
  /** Whether a text is a step's id. */
  is: (text: string): text is StepId => /^[^~]{1,128}~\d{1,9}:[\w@-]{1,80}:\d{1,9}(\.\d{1,9})?$/.test(text),
  /** Reads an id that came from outside. @throws TypeError if it is not a step's. */
  parse: (text: string): StepId => {
    if (!StepId.is(text)) throw new TypeError(`invalid step id ${JSON.stringify(text.slice(0, 200))}`);
    TreeId.of(text.slice(0, text.indexOf(runMark)));
    return text;
  },
  /** Returns the run of a step. */
  run: (step: StepId): RunId => step.slice(0, step.indexOf(":", step.indexOf(runMark))) as RunId,
  /** Returns the id of the `number`-th call inside a step, for the ledger. 0 is the step itself. */
  inner: (step: StepId, number: number): StepId => (number === 0 ? step : `${step}.${number}`) as StepId,
  /** Returns the step in which a call is made. */
  outer: (call: StepId): StepId => call.replace(/\.\d+$/, "") as StepId,
} as const;

/** Constructors of {@link EventId}. */
export const EventId = {
  /** Creates an event's id from its source: a run and a position, or an attempt. */
  of: (source: string, name: string): EventId => `${source}#${name}` as EventId,
} as const;

/** Constructors of {@link TopicId}. */
export const TopicId = {
  /** Returns the id of a topic of one tree. */
  of: (type: string, tree: TreeId): TopicId => `${id(type, "/")}/${tree}` as TopicId,
} as const;
