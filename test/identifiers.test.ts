import { globSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";

/** Names of earlier drafts. One word per idea: each has a plain name now. */
const banned = new Set([
  "AnswerPlace",
  "AskedMeaning",
  "AtHand",
  "AtRest",
  "AttachedHost",
  "AuditWriterHost",
  "BellKey",
  "BuildsHost",
  "CallPlace",
  "ChatPlace",
  "ConversationHost",
  "ConversationPlace",
  "DeltasHost",
  "DevPlace",
  "DoubleAnswer",
  "DoubleCall",
  "DoubleMessage",
  "DoublePart",
  "DoubleRequest",
  "DoubleScript",
  "DoubleTool",
  "EndedInside",
  "EndpointHost",
  "EntryPlace",
  "EstateOptions",
  "ExtensionHost",
  "GuardedPlace",
  "HandedOff",
  "HandedOut",
  "HandleHost",
  "HeldCall",
  "HeldModel",
  "HireArgument",
  "Hireable",
  "JointCall",
  "JointDecided",
  "KeptPlace",
  "KeptStep",
  "KeptSteps",
  "LimitWish",
  "LinePlace",
  "LiveHost",
  "OpeningHost",
  "PeerHost",
  "ProjectorHost",
  "ProviderDouble",
  "ProviderDoubleOptions",
  "RefusalError",
  "RunHost",
  "SectionPlace",
  "ServerHost",
  "StepHolder",
  "StepPlace",
  "StreamsHost",
  "TabCall",
  "TraceHost",
  "TreeHost",
  "TurnPlace",
  "ageingS",
  "answerS",
  "bossAndHelper",
  "bossOf",
  "callHop",
  "decidedEstate",
  "estateOf",
  "heldModel",
  "helperCalls",
  "hireOf",
  "hireWaiting",
  "inHand",
  "inOffice",
  "isFleeting",
  "keptMs",
  "linearPattern",
  "lookMs",
  "mendEntries",
  "obedient",
  "objectObstacle",
  "objectObstacleOf",
  "obstacleOf",
  "patienceMs",
  "providerDouble",
  "stallS",
  "toDoubleAnswer",
  "wishOf",
]);

const isTestSupport = (path: string): boolean => path.startsWith("src/testing/");
const sources = (...folders: readonly string[]): readonly string[] =>
  globSync(folders.map((folder) => `${folder}/**/*.{ts,tsx}`)).filter(
    (path) => !path.includes("node_modules"),
  );
const product = sources("src").filter((path) => !isTestSupport(path));

/** A function, method, or property with a function as its value. */
interface NamedFunction {
  readonly name: string;
  readonly kind: "function" | "member";
  readonly isTopLevel: boolean;
  /** Whether it creates a value of the type that holds it: a static method, or a member of a constant `TreeId`. */
  readonly isOfType: boolean;
}

interface Scope {
  readonly depth: number;
  readonly isOfType: boolean;
}

type AnyNode = { readonly type: string } & Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

const isFunction = (value: unknown): boolean =>
  isNode(value) &&
  ["ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"].includes(value.type);

/** Whether a type is a function, also one that may be null. */
function isFunctionType(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value.type === "TSFunctionType") return true;
  if (value.type === "TSUnionType")
    return Array.isArray(value["types"]) && value["types"].some(isFunctionType);
  return isFunctionType(value["typeAnnotation"]);
}

const memberTypes = new Set([
  "MethodDefinition",
  "TSAbstractMethodDefinition",
  "TSMethodSignature",
  "PropertyDefinition",
  "TSPropertySignature",
  "Property",
]);

/** Returns the function that a node defines. Null if it defines none. */
function toNamed(node: AnyNode, { depth, isOfType }: Scope): NamedFunction | null {
  const isMember = memberTypes.has(node.type);
  const key = isMember ? node["key"] : node["id"];
  if (!isNode(key) || typeof key["name"] !== "string" || node["computed"] === true) return null;
  const isDefined = isMember
    ? node["kind"] === "method" ||
      node.type === "TSMethodSignature" ||
      isFunction(node["value"]) ||
      isFunctionType(node["typeAnnotation"])
    : node.type === "FunctionDeclaration" ||
      (node.type === "VariableDeclarator" &&
        (isFunction(node["init"]) || isFunctionType(key["typeAnnotation"])));
  if (!isDefined || node["kind"] === "get" || node["kind"] === "set") return null;
  return {
    name: key["name"],
    kind: isMember ? "member" : "function",
    isTopLevel: depth === 0,
    isOfType: isOfType || node["static"] === true,
  };
}

function collect(value: unknown, scope: Scope, found: NamedFunction[]): void {
  if (Array.isArray(value)) for (const each of value) collect(each, scope, found);
  if (!isNode(value)) return;
  const named = toNamed(value, scope);
  if (named) found.push(named);
  const id = value.type === "VariableDeclarator" ? value["id"] : null;
  const isOfType = isNode(id)
    ? /^[A-Z]/.test(String(id["name"]))
    : scope.isOfType && value.type !== "Property";
  const isInner = isFunction(value) || value.type === "ClassBody" || value.type === "BlockStatement";
  const inner: Scope = { depth: scope.depth + (isInner ? 1 : 0), isOfType };
  for (const each of Object.values(value)) collect(each, inner, found);
}

const parsed = new Map<string, readonly NamedFunction[]>();

/** Returns all functions that a file defines. */
function listAll(path: string): readonly NamedFunction[] {
  const known = parsed.get(path);
  if (known) return known;
  const found: NamedFunction[] = [];
  collect(parseSync(path, readFileSync(path, "utf8")).program, { depth: 0, isOfType: false }, found);
  parsed.set(path, found);
  return found;
}

/** Returns the names of the functions that a file defines at its top level. */
const listFunctions = (path: string): readonly string[] =>
  listAll(path).flatMap(({ name, kind, isTopLevel }) => (kind === "function" && isTopLevel ? [name] : []));

/** Verbs that end as participles do. */
const verbs = new Set(["need", "embed", "feed", "seed", "exceed", "proceed", "succeed", "string"]);

/** Participles, adjectives and prepositions that are no verb. */
const notVerbs = new Set(
  "told made said kept held sent found lost given known shown written begun gone drawn taken spoken heard left seen done built hidden frozen chosen shrunk within without beside below above before after until since under over against near behind during quiet late soon whole own newest oldest last next other ours past ready narrower stricter unknown visible missing malformed unreadable unreachable unavailable unsupported no never once twice several single spare only idle lowest least more sayable paused at of by".split(
    " ",
  ),
);

const isVerb = (name: string): boolean =>
  verbs.has(name) || !(notVerbs.has(name) || /^[a-z]{2,}(?:ed|ing)$/.test(name));

/** Names of members that are no verbs, each with its reason. */
const exceptions: readonly { readonly name: string; readonly path?: string; readonly why: string }[] = [
  { name: "next", why: "the next value of a sequence, as of an iterator" },
  { name: "until", why: "the option of a loop: it reads `loop(step, { until })`" },
  { name: "ended", path: "src/tree/previous-protocol.ts", why: "a key of stored state" },
  { name: "ended", path: "src/tree/shapes/stored-shapes.ts", why: "a key of stored state" },
  { name: "heading", path: "ui/parts/markdown.tsx", why: "a kind of token, named by the parser" },
  { name: "hidden", path: "test/server/user-routes.test.ts", why: "a kind of answer" },
  { name: "own", path: "test/server/user-routes.test.ts", why: "a kind of answer" },
];

const isExcepted = (path: string, { name, isOfType }: NamedFunction): boolean =>
  (name === "of" && isOfType) ||
  exceptions.some((each) => each.name === name && (each.path === undefined || each.path === path));

test("functions are named by verbs, not by participles, adjectives or prepositions", () => {
  const found = [...product, ...sources("ui", "bench")].flatMap((path) =>
    listAll(path).flatMap(({ kind, name }) =>
      kind === "function" && !isVerb(name) ? [`${path}: ${name}`] : [],
    ),
  );
  expect(found).toEqual([]);
});

test("methods and properties with a function as their value are named by verbs", () => {
  const found = sources("src", "ui", "bench", "test", "examples", "template").flatMap((path) =>
    listAll(path).flatMap((each) =>
      each.kind === "member" && !isVerb(each.name) && !isExcepted(path, each)
        ? [`${path}: ${each.name}`]
        : [],
    ),
  );
  expect(found).toEqual([]);
});

test("at most 12 names of functions are defined in three or more files", () => {
  const files = new Map<string, Set<string>>();
  for (const path of product)
    for (const name of listFunctions(path)) files.set(name, (files.get(name) ?? new Set()).add(path));
  const shared = [...files].filter(([, paths]) => paths.size > 2).map(([name]) => name);
  expect(shared.slice(12)).toEqual([]);
});

test("no identifier has a name of an earlier draft", () => {
  const found = sources("src", "ui", "examples", "template").flatMap((path) => {
    const words = new Set(readFileSync(path, "utf8").match(/[A-Za-z_$][\w$]*/g));
    return [...words].filter((word) => banned.has(word)).map((word) => `${path}: ${word}`);
  });
  expect(found).toEqual([]);
});
