import { isJsonObject, Json, upgradeError, upgradeEvent, type JsonObject, type RunLaunch } from "#kernel";
import { protocolNumber } from "./protocol-number.ts";
import type { LaunchInput } from "./protocol.ts";

/*
 * Conversions between the previous protocol, 2, and the present one. They differ in names only.
 *
 * 1. A run that was launched under protocol 2 keeps its names: its journal holds them. A worker of this release makes
 *    the run's calls with the previous names, and reads their replies.
 * 2. Objects answer calls of protocol 2: under the previous names of methods and fields.
 * 3. Stored values of protocol 2 are converted when they are read.
 */

type Names = ReadonlyMap<string, string>;

const invert = (names: Names): Names => new Map([...names].map(([one, other]) => [other, one]));

/** The present names of methods by their previous names, by the type of the object. */
const methods: Readonly<Record<string, Names>> = {
  tree: new Map([
    ["hire", "spawn"],
    ["rest", "wait"],
    ["unask", "abandonAsk"],
    ["nudge", "injectMessage"],
    ["follow", "subscribe"],
    ["go", "startTurn"],
  ]),
  tenant: new Map([
    ["draw", "requestQuota"],
    ["giveBack", "returnQuota"],
  ]),
};

const previousTreeMethods = invert(methods["tree"] ?? new Map());

/** Present names of fields by their previous names. */
const fields = {
  open: new Map([["boot", "firstMessage"]]),
  blocked: new Map([["words", "lastError"]]),
  batch: new Map([["standing", "slotState"]]),
  launch: new Map([["news", "inbox"]]),
  run: new Map([
    ["boot", "firstMessage"],
    ["hiredAt", "spawnedAt"],
    ["untold", "undeliveredEvents"],
  ]),
  inbox: new Map([["told", "delivered"]]),
  tree: new Map([["fleeting", "hasErasable"]]),
  ledger: new Map([["block", "lease"]]),
} satisfies Record<string, Names>;

const previousFieldsOfBatch = invert(fields.batch);

/** Renames fields of an object. Any other value is returned unchanged. */
function rename(value: Json | undefined, names: Names): Json {
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [names.get(name) ?? name, field]));
}

/** Converts one field of an object, if it is present. */
function convert(value: Json, name: string, change: (field: Json) => Json): Json {
  const field = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(value) && field !== undefined ? { ...value, [name]: change(field) } : value;
}

/** Adds the previous names of an object's methods. */
export function withPreviousNames<Method>(
  type: string,
  present: Readonly<Record<string, Method>>,
): Readonly<Record<string, Method>> {
  const all = { ...present };
  for (const [previous, name] of methods[type] ?? []) if (present[name]) all[previous] = present[name];
  return all;
}

/** Returns the name under which a run calls a method of its tree. */
export function methodOf(method: string, { protocol }: Pick<RunLaunch, "protocol">): string {
  return protocol === protocolNumber ? method : (previousTreeMethods.get(method) ?? method);
}

/** Converts the argument of a call of protocol 2. */
export function upgradeArgument(method: string, argument: JsonObject): Json {
  if (method === "open") return rename(argument, fields.open);
  if (method === "blocked") return rename(argument, fields.blocked);
  return method === "invoke" ? convert(argument, "open", (open) => rename(open, fields.open)) : argument;
}

/** Converts the reply to a call of protocol 2. */
export const downgradeReply = (reply: Json): Json =>
  convert(reply, "reply", (inner) =>
    rename(convertGate(inner, "needs-lease", "needs-block"), previousFieldsOfBatch),
  );

/** Converts a reply that a run of protocol 2 got, now or before this release. */
export const upgradeReply = (reply: Json): Json =>
  convert(reply, "reply", (inner) => upgradeBatch(convertGate(inner, "needs-block", "needs-lease")));

/** Converts inbox items that a run of protocol 2 got. */
export const upgradeBatch = (batch: Json): Json => rename(batch, fields.batch);

const convertGate = (reply: Json, from: string, to: string): Json =>
  convert(reply, "gate", (gate) => convert(gate, "kind", (kind) => (kind === from ? to : kind)));

/** Returns the input of a run's execution, in the present form. */
export function readLaunchInput(launch: RunLaunch): LaunchInput {
  if (launch.protocol === protocolNumber) return Json.as(launch.input);
  const { entrance = null } = Json.as<{ readonly entrance?: Json }>(Json.of(launch));
  return Json.as(convert(rename(entrance, fields.launch), "inbox", upgradeBatch));
}

const upgradeErrorIn = (value: Json): Json =>
  convert(value, "error", (error) => (isJsonObject(error) ? Json.of(upgradeError(Json.as(error))) : error));

const upgradeEnded = (ended: Json): Json => convert(ended, "result", upgradeErrorIn);

/** Converts a list of objects that may have the result of a run. */
const upgradeItems = (items: Json): Json =>
  Array.isArray(items) ? items.map((item: Json) => upgradeEnded(item)) : items;

/** Converts the open asks of a run. Their time runs out as if nothing had ever stood still. */
const upgradeAsks = (asks: Json): Json =>
  Array.isArray(asks)
    ? asks.map((ask: Json) => (isJsonObject(ask) ? { at: 0, idleMs: 0, ...ask } : ask))
    : asks;

/** Conversions of a tree's values, by the first part of their names. */
const values: Readonly<Record<string, (value: Json) => Json>> = {
  run: (value) => {
    // Wake-ups with items have another form now. A run of protocol 2 takes its items by calls.
    const { hearsNews: _, ...run } = isJsonObject(value) ? value : {};
    return convert(rename(run, fields.run), "inbox", (inbox) =>
      convert(rename(inbox, fields.inbox), "items", upgradeItems),
    );
  },
  asks: upgradeAsks,
  inbox: upgradeItems,
  tree: (value) => convert(rename(value, fields.tree), "ledger", (ledger) => rename(ledger, fields.ledger)),
  event: (value) =>
    Array.isArray(value)
      ? value.map((event: Json) => (isJsonObject(event) ? Json.of(upgradeEvent(Json.as(event))) : event))
      : value,
  ended: (value) => (Array.isArray(value) ? upgradeItems(value) : upgradeEnded(value)),
  content: upgradeErrorIn,
};

/** Converts a stored value of protocol 2. */
export function upgradeValue(type: string, name: string, value: Json): Json {
  const [kind = ""] = name.split("/", 1);
  const upgrade = type === "tree" && Object.hasOwn(values, kind) ? values[kind] : undefined;
  return upgrade ? upgrade(value) : value;
}
