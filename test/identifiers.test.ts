import { globSync, readFileSync } from "node:fs";
import { parseSync, type Statement } from "oxc-parser";
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
const product = globSync("src/**/*.{ts,tsx}").filter((path) => !isTestSupport(path));

/** Returns the names of the functions that a file defines at its top level. */
function listFunctions(path: string): readonly string[] {
  const { program } = parseSync(path, readFileSync(path, "utf8"));
  return program.body.flatMap((statement) => namesIn(statement));
}

function namesIn(statement: Statement): readonly string[] {
  if (statement.type === "ExportNamedDeclaration")
    return statement.declaration ? namesIn(statement.declaration) : [];
  if (statement.type === "FunctionDeclaration") return statement.id ? [statement.id.name] : [];
  if (statement.type !== "VariableDeclaration") return [];
  return statement.declarations.flatMap(({ id, init }) =>
    id.type === "Identifier" && init?.type === "ArrowFunctionExpression" ? [id.name] : [],
  );
}

/** Verbs that end as participles do. */
const verbs = new Set(["need", "embed", "feed", "seed", "exceed", "proceed", "string"]);

/** Participles, adjectives and prepositions that are no verb. */
const notVerbs = new Set(
  "told made said kept held sent found lost given known shown written begun gone drawn taken spoken heard left seen done built hidden frozen chosen shrunk within without beside below above before after until since under over against near behind during quiet late soon whole own newest oldest last next other ours past ready narrower stricter unknown visible missing malformed unreadable unreachable unavailable unsupported no never once twice several single spare only idle lowest least more sayable paused at of by".split(
    " ",
  ),
);

const isVerb = (name: string): boolean =>
  verbs.has(name) || !(notVerbs.has(name) || /^[a-z]{2,}(?:ed|ing)$/.test(name));

test("functions are named by verbs, not by participles, adjectives or prepositions", () => {
  const found = product.flatMap((path) => listFunctions(path).map((name) => ({ path, name })));
  expect(found.filter(({ name }) => !isVerb(name))).toEqual([]);
});

test("at most 12 names of functions are defined in three or more files", () => {
  const files = new Map<string, Set<string>>();
  for (const path of product)
    for (const name of listFunctions(path)) files.set(name, (files.get(name) ?? new Set()).add(path));
  const shared = [...files].filter(([, paths]) => paths.size > 2).map(([name]) => name);
  expect(shared.slice(12)).toEqual([]);
});

test("no identifier has a name of an earlier draft", () => {
  const paths = globSync(
    ["src", "ui", "examples", "template"].map((folder) => `${folder}/**/*.{ts,tsx}`),
  ).filter((path) => !path.includes("node_modules"));
  const found = paths.flatMap((path) => {
    const words = new Set(readFileSync(path, "utf8").match(/[A-Za-z_$][\w$]*/g));
    return [...words].filter((word) => banned.has(word)).map((word) => `${path}: ${word}`);
  });
  expect(found).toEqual([]);
});
