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

/** The turn holder of one conversation, and its queue. */
interface SessionRecord {
  /** The tree that has the turn. */
  readonly holder: ObjectAddress | null;
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

/** The argument that begins a turn. */
export interface InvokeArgument {
  readonly tree: ObjectAddress;
  readonly open: OpenArgument;
  /** The reaction if another tree has the turn. */
  readonly onBusy: "refuse" | "queue";
}

/** Opens a tree that has the turn, or waits for it. The same tree again is not a second turn. @throws SessionBusyError */
function invoke(object: ObjectContext, argument: Json): Json {
  const { tree, open, onBusy } = Json.as<InvokeArgument>(argument);
  const session = readSession(object);
  const isBusy = session.holder !== null && !isSameObject(session.holder, tree);
  if (isBusy && onBusy === "refuse" && !isKnown(object, tree, open))
    throw new SessionBusyError({ session: open.scope.sessionId });
  const opening: OpenArgument = { ...open, session: addressOf(object), waits: isBusy };
  const reply = Json.as<ReplyOf<"open">>(object.call(tree, "open", Json.of(opening)));
  if (reply.existing) return Json.of(reply);
  writeSession(object, isBusy ? { ...session, line: [...session.line, tree] } : { ...session, holder: tree });
  return Json.of(reply);
}

/** Releases the turn of an ended tree to the next one, or removes the tree from the queue. */
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

/** The object that serializes the turns of one conversation. A tree has the turn from its first run to its last. */
export const sessionObject: ObjectDefinition = {
  type: "session",
  methods: { invoke, release: releaseSession },
  queries: { turn: (object) => Json.of(readSession(object).holder) },
};

const readSession = (object: ObjectContext): SessionRecord => Json.as(object.get("session") ?? Json.of(idle));

const addressOf = ({ key }: ObjectContext): ObjectAddress => ({ type: sessionObject.type, key });

function writeSession(object: ObjectContext, session: SessionRecord): void {
  if (session === idle) object.clear("session");
  else object.set("session", Json.of(session));
}

const isSameObject = (one: ObjectAddress, other: ObjectAddress): boolean => one.key === other.key;

/** Whether the tree is open already. A repeated start of the same turn returns it instead of opening another. */
const isKnown = (object: ObjectContext, tree: ObjectAddress, { treeId }: OpenArgument): boolean =>
  object.call(tree, "status", { run: RunId.root(treeId) }) !== null;
