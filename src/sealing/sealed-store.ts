import { ApprovalId, Json, type Keys, Partition, type Store } from "#kernel";
import type {
  ApprovalDecision,
  ApprovalRecord,
  AuditEntry,
  Fact,
  NumberedEvent,
  PromptManifest,
  UserId,
} from "#kernel";
import { Content, type ContentOf } from "./content.ts";
import { Seals } from "./seals.ts";
import { sealedSessions } from "./sealed-sessions.ts";

/**
 * A store whose database holds no content: what anybody said, remembered, decided or wrote into the audit is sealed
 * with the tenant's key, or with that of its tree, before it gets there. Ids, names, kinds, amounts, sizes and times stay readable, because lists
 * and pages go by them; so do the keys of facts.
 *
 * Whatever else is put into the database is refused with a `SealBrokenError` when it is read.
 */
export function sealedStore(store: Store, keys: Keys, seals = new Seals(keys)): Store {
  const contentOf: ContentOf = async (partition, tree) => {
    const key = Partition.key(partition, tree);
    return new Content(key, await seals.of(key));
  };
  return {
    lasts: store.lasts,
    runs: store.runs,
    keys: store.keys,
    workers: store.workers,
    apiKeys: store.apiKeys,
    limits: store.limits,
    events: sealedEvents(store.events, contentOf),
    sessions: sealedSessions(store.sessions, contentOf),
    memory: sealedMemory(store.memory, contentOf),
    approvals: sealedApprovals(store.approvals, contentOf),
    audit: sealedAudit(store.audit, contentOf),
    manifests: sealedManifests(store.manifests, contentOf),
    eraseUser: (partition, user) => store.eraseUser(partition, user),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function sealedEvents(events: Store["events"], contentOf: ContentOf): Store["events"] {
  return {
    append: async (partition, tree, added, isFleeting = () => false) => {
      const fleeting = await contentOf(partition, tree);
      const { lasting } = fleeting;
      const sealed = added.map((event) => sealEvent(isFleeting(event) ? fleeting : lasting, event));
      await events.append(partition, tree, sealed);
    },
    rewrite: async (partition, tree, given) => {
      const { lasting } = await contentOf(partition, tree);
      const sealed = given.map((event) => sealEvent(lasting, event));
      await events.rewrite(partition, tree, sealed);
    },
    read: async (partition, tree, after, limit) => {
      const content = await contentOf(partition, tree);
      const kept = await events.read(partition, tree, after, limit);
      return openEvents(content, kept);
    },
    changed: async (partition, tree, after, signal) => {
      const kept = await events.changed(partition, tree, after, signal);
      return openEvents(await contentOf(partition, tree), kept);
    },
  };
}

type SealedEvent = Pick<NumberedEvent, "treeId" | "seq"> & { readonly payload: Json };

const placeOf = ({ treeId, seq }: Pick<NumberedEvent, "treeId" | "seq">): string => `event ${treeId} ${seq}`;

/** Where an event stands, and its type, stay open; all it tells does not. */
function sealEvent(content: Content, event: NumberedEvent): NumberedEvent {
  const { seq, type, eventId, treeId, runId, agent, at, attempt, ...told } = event;
  const payload = content.seal(placeOf(event), told);
  return Json.as({ seq, type, eventId, treeId, runId, agent, at, attempt, payload });
}

const openEvents = (content: Content, kept: readonly NumberedEvent[]): readonly NumberedEvent[] =>
  kept.map((event) => openEvent(content, Json.as(Json.of(event))));

function openEvent(content: Content, { payload, ...open }: SealedEvent): NumberedEvent {
  return Object.assign(Json.as<NumberedEvent>(content.open(placeOf(open), payload)), open);
}

const placeOfFact = (user: UserId | null, { key, validFrom }: Fact): string =>
  `fact ${user ?? ""} ${validFrom} ${key}`;

function sealedMemory(memory: Store["memory"], contentOf: ContentOf): Store["memory"] {
  return {
    remember: async (partition, user, fact) => {
      const content = await contentOf(partition);
      await memory.remember(partition, user, {
        ...fact,
        value: content.seal(placeOfFact(user, fact), fact.value),
      });
    },
    recall: async (partition, user, query) => {
      const content = await contentOf(partition);
      const kept = await memory.recall(partition, user, query);
      return kept.map((fact) =>
        Object.assign({}, fact, { value: content.open(placeOfFact(user, fact), fact.value) }),
      );
    },
  };
}

type Asked = Pick<ApprovalRecord, "arguments" | "why">;
type Answered = Pick<ApprovalDecision, "arguments" | "reason">;

const isErased = (kept: Json | undefined): boolean => kept === null || kept === undefined;

/** Erased, it has nothing left to open. */
function openApproval(content: Content, kept: ApprovalRecord): ApprovalRecord {
  if (isErased(kept.arguments)) return kept;
  const asked = Json.as<Asked>(content.open(`approval ${kept.id}`, kept.arguments));
  if (kept.decision === null) return { ...kept, ...asked };
  const { arguments: sealed, ...open } = kept.decision;
  const answered = Json.as<Answered>(content.open(`decision ${kept.id}`, sealed));
  return { ...kept, ...asked, decision: { ...open, ...answered } };
}

/** What they are about goes with the key of their tree. Who decided what stays. */
function sealedApprovals(approvals: Store["approvals"], contentOf: ContentOf): Store["approvals"] {
  return {
    request: async (partition, approval) => {
      const { arguments: given, why, treeId } = approval;
      const content = await contentOf(partition, treeId);
      const sealed = content.seal(`approval ${approval.id}`, { arguments: given, why });
      await approvals.request(partition, { ...approval, arguments: sealed, why: "" });
    },
    decide: async (partition, id, { arguments: edited, reason, ...decision }) => {
      const content = await contentOf(partition, ApprovalId.tree(id));
      const sealed = content.seal(`decision ${id}`, { arguments: edited, reason });
      const decided = await approvals.decide(partition, id, { ...decision, arguments: sealed });
      return openApproval(content, decided);
    },
    list: async (partition, filter, page) => {
      const { items, next } = await approvals.list(partition, filter, page);
      const opened: ApprovalRecord[] = [];
      for (const approval of items)
        opened.push(openApproval(await contentOf(partition, approval.treeId), approval));
      return { items: opened, next };
    },
    erase: (partition, tree) => approvals.erase(partition, tree),
  };
}

function openLink(content: Content, link: AuditEntry): AuditEntry {
  return { ...link, data: content.open(`audit ${link.index}`, link.data) };
}

function sealedAudit(audit: Store["audit"], contentOf: ContentOf): Store["audit"] {
  return {
    append: async (partition, links) => {
      const content = await contentOf(partition);
      await audit.append(
        partition,
        links.map((link) => ({ ...link, data: content.seal(`audit ${link.index}`, link.data) })),
      );
    },
    known: (partition, sources) => audit.known(partition, sources),
    read: async (partition, from, limit) => {
      const content = await contentOf(partition);
      return (await audit.read(partition, from, limit)).map((link) => openLink(content, link));
    },
    head: (partition) => audit.head(partition),
  };
}

function openManifest(content: Content, manifest: PromptManifest): PromptManifest {
  return { ...manifest, parts: content.open(`manifest ${manifest.stepId}`, manifest.parts) };
}

function sealedManifests(manifests: Store["manifests"], contentOf: ContentOf): Store["manifests"] {
  return {
    put: async (partition, manifest) => {
      const content = await contentOf(partition);
      const parts = content.seal(`manifest ${manifest.stepId}`, manifest.parts);
      await manifests.put(partition, { ...manifest, parts });
    },
    get: async (partition, step) => {
      const manifest = await manifests.get(partition, step);
      return manifest && openManifest(await contentOf(partition), manifest);
    },
    list: async (partition, run) => {
      const content = await contentOf(partition);
      return (await manifests.list(partition, run)).map((manifest) => openManifest(content, manifest));
    },
  };
}
