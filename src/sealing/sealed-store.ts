import {
  ApprovalId,
  copyStore,
  Json,
  KeyDestroyedError,
  type Keys,
  type ManifestRecord,
  type ManifestText,
  Partition,
  RunId,
  StepId,
  type Store,
  type TreeId,
  type ApprovalDecision,
  type ApprovalRecord,
  type AuditEntry,
  type NumberedEvent,
  upgradeEvent,
} from "#kernel";
import { Content, type ContentOf } from "./content.ts";
import { sealedCache } from "./sealed-cache.ts";
import { Seals } from "./seals.ts";
import { sealedMemory } from "./sealed-memory.ts";
import { sealedSessions } from "./sealed-sessions.ts";
import { sealedWebhooks } from "./sealed-webhooks.ts";

/**
 * Returns a store whose database holds no readable content. Messages, memory, decisions and audit entries are sealed
 * with the tenant's key, or with that of their tree. Ids, names, kinds, amounts, sizes and times stay readable, because
 * lists and pages need them.
 *
 * Unsealed data in the database is refused with a `SealBrokenError` when it is read.
 */
export function sealedStore(store: Store, keys: Keys, seals = new Seals(keys)): Store {
  const contentOf: ContentOf = async (partition, tree) => {
    const key = Partition.key(partition, tree);
    return new Content(key, await seals.getSeal(key));
  };
  return {
    ...copyStore(store),
    cache: sealedCache(store.cache, contentOf),
    webhooks: sealedWebhooks(store.webhooks, contentOf),
    events: sealedEvents(store.events, contentOf),
    sessions: sealedSessions(store.sessions, contentOf),
    memory: sealedMemory(store.memory, contentOf),
    // A vector reveals its text, and cannot be compared while it is sealed.
    vectors: null,
    approvals: sealedApprovals(store.approvals, contentOf),
    audit: sealedAudit(store.audit, contentOf),
    manifests: sealedManifests(store.manifests, contentOf),
  };
}

function sealedEvents(events: Store["events"], contentOf: ContentOf): Store["events"] {
  return {
    append: async (partition, tree, added, isErasable = () => false) => {
      const erasable = await contentOf(partition, tree);
      const { lasting } = erasable;
      const sealed = added.map((event) => sealEvent(isErasable(event) ? erasable : lasting, event));
      await events.append(partition, tree, sealed);
    },
    rewrite: async (partition, tree, given) => {
      const { lasting } = await contentOf(partition, tree);
      const sealed = given.map((event) => sealEvent(lasting, event));
      await events.rewrite(partition, tree, sealed);
    },
    read: async (partition, tree, range) => {
      const content = await contentOf(partition, tree);
      const kept = await events.read(partition, tree, range);
      return openEvents(content, kept);
    },
    waitForEvents: async (partition, tree, options) => {
      const kept = await events.waitForEvents(partition, tree, options);
      return openEvents(await contentOf(partition, tree), kept);
    },
    changes: (...given) => events.changes(...given),
  };
}

type SealedEvent = Pick<NumberedEvent, "treeId" | "seq"> & { readonly payload: Json };

const toEventContext = ({ treeId, seq }: Pick<NumberedEvent, "treeId" | "seq">): string =>
  `event ${treeId} ${seq}`;

/** Seals an event. Its position and type stay readable; its payload does not. */
function sealEvent(content: Content, event: NumberedEvent): NumberedEvent {
  const { seq, type, eventId, treeId, runId, agent, at, attempt, ...told } = event;
  const payload = content.seal(toEventContext(event), told);
  return Json.as({ seq, type, eventId, treeId, runId, agent, at, attempt, payload });
}

const openEvents = (content: Content, kept: readonly NumberedEvent[]): readonly NumberedEvent[] =>
  kept.map((event) => openEvent(content, Json.as(Json.of(event))));

function openEvent(content: Content, { payload, ...open }: SealedEvent): NumberedEvent {
  return upgradeEvent(
    Object.assign(Json.as<NumberedEvent>(content.open(toEventContext(open), payload)), open),
  );
}

type QuestionContent = Pick<ApprovalRecord, "arguments" | "why">;
type AnswerContent = Pick<ApprovalDecision, "arguments" | "reason">;

const isErased = (kept: Json | undefined): boolean => kept === null || kept === undefined;

/** Opens an approval. An erased one has nothing left to open. */
function openApproval(content: Content, kept: ApprovalRecord): ApprovalRecord {
  if (isErased(kept.arguments)) return kept;
  const asked = Json.as<QuestionContent>(content.open(`approval ${kept.id}`, kept.arguments));
  if (kept.decision === null) return { ...kept, ...asked };
  const { arguments: sealed, ...open } = kept.decision;
  const answered = Json.as<AnswerContent>(content.open(`decision ${kept.id}`, sealed));
  return { ...kept, ...asked, decision: { ...open, ...answered } };
}

/** Seals approvals. Their content is erased with the key of their tree. Decisions and deciders stay. */
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
    findRecorded: (partition, sources) => audit.findRecorded(partition, sources),
    read: async (partition, from, limit) => {
      const content = await contentOf(partition);
      return (await audit.read(partition, from, limit)).map((link) => openLink(content, link));
    },
    list: async (partition, filter, limit) => {
      const content = await contentOf(partition);
      return (await audit.list(partition, filter, limit)).map((link) => openLink(content, link));
    },
    head: (partition) => audit.head(partition),
    check: (partition) => audit.check(partition),
    keepCheck: (partition, check) => audit.keepCheck(partition, check),
  };
}

const placeOfManifest = ({ stepId, attempt }: ManifestRecord): string => `manifest ${stepId} ${attempt}`;

/** Opens a manifest. Once the key of its tree is destroyed, an erasable manifest has no body. */
function openManifest(content: Content, manifest: ManifestRecord): ManifestRecord {
  if (manifest.body === null) return manifest;
  return { ...manifest, body: openUnlessErased(content, placeOfManifest(manifest), manifest.body) };
}

function openUnlessErased(content: Content, place: string, sealed: Json): Json {
  try {
    return content.open(place, sealed);
  } catch (error) {
    if (error instanceof KeyDestroyedError) return null;
    throw error;
  }
}

const sealTexts = (content: Content, texts: readonly ManifestText[]): readonly ManifestText[] =>
  texts.map(({ hash, text }) => {
    const name = content.digest(hash);
    return { hash: name, text: content.seal(`text ${name}`, text).sealed };
  });

/** Seals manifests. Texts are found by a keyed hash, so that the database reveals nothing about their content. */
function sealedManifests(manifests: Store["manifests"], contentOf: ContentOf): Store["manifests"] {
  const contentFor = async (partition: Partition, tree: TreeId, isPermanent: boolean): Promise<Content> => {
    const content = await contentOf(partition, tree);
    return isPermanent ? content.lasting : content;
  };
  const contentToWrite: typeof contentFor = async (partition, tree, isPermanent) => {
    const content = await contentFor(partition, tree, isPermanent);
    // A superseded worker may write after the end. With the lasting key, that content would stay readable.
    if (!isPermanent && content.isErased)
      throw new KeyDestroyedError({ partition: Partition.key(partition, tree) });
    return content;
  };
  return {
    put: async (partition, manifest, texts) => {
      const content = await contentToWrite(partition, RunId.tree(manifest.runId), manifest.isPermanent);
      const body = content.seal(placeOfManifest(manifest), manifest.body);
      await manifests.put(partition, { ...manifest, body }, sealTexts(content, texts));
    },
    putTexts: async (partition, tree, { texts, isPermanent }) => {
      const content = await contentToWrite(partition, tree, isPermanent);
      await manifests.putTexts(partition, tree, { texts: sealTexts(content, texts), isPermanent });
    },
    get: async (partition, step) => {
      const content = await contentOf(partition, RunId.tree(StepId.run(step)));
      return (await manifests.get(partition, step)).map((manifest) => openManifest(content, manifest));
    },
    list: async (partition, run, page) => {
      const content = await contentOf(partition, RunId.tree(run));
      const { items, next } = await manifests.list(partition, run, page);
      return { items: items.map((manifest) => openManifest(content, manifest)), next };
    },
    texts: async (partition, tree, { hashes, isPermanent }) => {
      const content = await contentFor(partition, tree, isPermanent);
      const names = new Map(hashes.map((hash) => [content.digest(hash), hash]));
      const found = await manifests.texts(partition, tree, { hashes: [...names.keys()], isPermanent });
      return found.flatMap(({ hash: name, text: sealed }) => {
        const text = openUnlessErased(content, `text ${name}`, { sealed });
        return typeof text === "string" ? [{ hash: names.get(name) ?? name, text }] : [];
      });
    },
    erase: (partition, tree) => manifests.erase(partition, tree),
    eraseTexts: async (partition, tree, hashes) => {
      const content = await contentOf(partition, tree);
      const names = hashes.flatMap((hash) => [content.digest(hash), content.lasting.digest(hash)]);
      await manifests.eraseTexts(partition, tree, names);
    },
  };
}
