import {
  Json,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  Partition,
  RunId,
  SessionBusyError,
} from "#kernel";
import type { OpenArgument } from "./open-argument.ts";
import type { ReplyOf } from "./protocol.ts";

/*
 * The object that gives out the turns of one conversation.
 *
 * A tree has the turn from its first run to its last. A process that moves or deletes the conversation claims it
 * meanwhile: the next turn waits, and another claim is refused. So what the claiming process has read stays true until it
 * has written.
 *
 * A process may end while it has a claim. So a claim ends by itself, a minute after it was made.
 */

/** The turn holder of one conversation, and its queue. */
interface SessionRecord {
  /** The tree that has the turn, or the claim. */
  readonly holder: ObjectAddress | null;
  /** The end of the claim. Absent: a tree is the holder, or none. */
  readonly until?: number | undefined;
  /** Open trees that wait for their turn, oldest first. */
  readonly line: readonly ObjectAddress[];
}

/** Returns the address of a user's conversation. Users of one tenant may use the same name. */
export function sessionAddress(
  session: string,
  {
    tenant,
    user = null,
  }: { readonly tenant?: string | undefined; readonly user?: string | null | undefined },
): ObjectAddress {
  // JSON keeps the parts unambiguous for any characters.
  const name = JSON.stringify([user, session]);
  return { type: sessionObject.type, key: Partition.part(Partition.of(tenant), name) };
}

const idle: SessionRecord = { holder: null, line: [] };

/** Returns the address of a claim. No object has it. */
export const claimAddress = (id: string): ObjectAddress => ({ type: "claim", key: id });

/** Maximum lifetime of a claim. Moving a conversation takes a few milliseconds. */
const claimMs = 60_000;

/** The argument that begins a turn. */
export interface InvokeArgument {
  readonly tree: ObjectAddress;
  readonly open: OpenArgument;
  /** The reaction if another tree has the turn. */
  readonly onBusy: "refuse" | "queue";
}

/** The argument that claims a conversation. */
export interface ClaimArgument {
  readonly claim: ObjectAddress;
  readonly session: string;
}

/** Opens a tree that has the turn, or waits for it. The same tree again is not a second turn. @throws SessionBusyError */
function invoke(object: ObjectContext, argument: Json): Json {
  const { tree, open, onBusy } = Json.as<InvokeArgument>(argument);
  const session = readPresent(object);
  const isBusy = session.holder !== null && !isSameObject(session.holder, tree);
  // Changing a conversation takes a few milliseconds: no turn is refused because of it.
  const mustWait = session.until !== undefined && session.line.length === 0;
  if (isBusy && !mustWait && onBusy === "refuse" && !isKnown(object, tree, open))
    throw new SessionBusyError({ session: open.scope.sessionId });
  const opening: OpenArgument = { ...open, session: addressOf(object), waits: isBusy };
  const reply = Json.as<ReplyOf<"open">>(object.call(tree, "open", Json.of(opening)));
  if (reply.existing) return Json.of(reply);
  writeSession(object, isBusy ? { ...session, line: [...session.line, tree] } : { ...session, holder: tree });
  if (isBusy && session.line.length === 0) releaseInTime(object, session);
  return Json.of(reply);
}

/** Makes sure that trees waiting behind a claim get the turn, even if the claim is never released. */
function releaseInTime(object: ObjectContext, { holder, until }: SessionRecord): void {
  if (until === undefined) return;
  const delayMs = Math.max(0, until - object.now());
  object.send(addressOf(object), "release", Json.of({ tree: holder, at: until }), {
    delayMs,
    bestEffort: true,
  });
}

/** Takes the idle conversation for a change. The same claim again is not a second one. @throws SessionBusyError */
function claimSession(object: ObjectContext, argument: Json): Json {
  const { claim, session: id } = Json.as<ClaimArgument>(argument);
  const session = readPresent(object);
  if (session.holder !== null && !isSameObject(session.holder, claim))
    throw new SessionBusyError({ session: id });
  writeSession(object, { ...session, holder: claim, until: object.now() + claimMs });
  return null;
}

/** Releases the turn of an ended tree, or a claim, to the next tree. Removes a tree that waits from the queue. */
function releaseSession(object: ObjectContext, argument: Json): Json {
  const { tree, at } = Json.as<{ readonly tree: ObjectAddress; readonly at: number }>(argument);
  const session = readSession(object);
  const line = session.line.filter((waiting) => !isSameObject(waiting, tree));
  if (!session.holder || !isSameObject(session.holder, tree)) {
    writeSession(object, { ...session, line });
    return null;
  }
  const [next, ...rest] = line;
  writeSession(object, next ? { holder: next, line: rest } : idle);
  if (next) object.send(next, "startTurn", { at });
  return null;
}

/** Returns the tree that has the turn. Null: none. A claim is not a turn. */
function readTurn(object: ObjectContext): Json {
  const { holder, until } = readSession(object);
  return Json.of(until === undefined ? holder : null);
}

/** The object that serializes the turns of one conversation, and claims of it. */
export const sessionObject: ObjectDefinition = {
  type: "session",
  methods: { invoke, claim: claimSession, release: releaseSession },
  queries: { turn: readTurn },
};

const readSession = (object: ObjectContext): SessionRecord => Json.as(object.get("session") ?? Json.of(idle));

/** Reads the session without a claim that is over. Trees that wait behind it get the turn by a message. */
function readPresent(object: ObjectContext): SessionRecord {
  const session = readSession(object);
  const { until, line } = session;
  return until !== undefined && until <= object.now() && line.length === 0 ? idle : session;
}

const addressOf = ({ key }: ObjectContext): ObjectAddress => ({ type: sessionObject.type, key });

function writeSession(object: ObjectContext, session: SessionRecord): void {
  if (session === idle) object.clear("session");
  else object.set("session", Json.of(session));
}

const isSameObject = (one: ObjectAddress, other: ObjectAddress): boolean => one.key === other.key;

/** Whether the tree is open already. A repeated start of the same turn returns it instead of opening another. */
const isKnown = (object: ObjectContext, tree: ObjectAddress, { treeId }: OpenArgument): boolean =>
  object.call(tree, "status", { run: RunId.root(treeId) }) !== null;
