import type {
  EphemeralSource,
  Extension,
  ExtensionProblem,
  Guardrail,
  Hooks,
  MiddlewareSet,
  NamedInterceptions,
  PromptSection,
  SavedTurnHandler,
  Tool,
} from "#kernel";
import { combineHooks } from "../hooks/hook-manager.ts";
import { toGuardrails, toResultLayer } from "./interception-layers.ts";

/** The parts of an agent that extensions may add to. */
export interface AgentParts {
  readonly tools: readonly Tool[];
  readonly hooks?: Hooks | undefined;
  readonly middleware?: MiddlewareSet | undefined;
  readonly guardrails?: readonly Guardrail[] | undefined;
  readonly sections?: readonly PromptSection[] | undefined;
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
}

/** The parts of an agent, combined with those of its extensions. */
export interface JoinedParts extends AgentParts {
  readonly sections: readonly PromptSection[];
  /** Parts that were left out, each with the reason. */
  readonly problems: readonly ExtensionProblem[];
  readonly onSaved: readonly SavedTurnHandler[];
  readonly interceptions: readonly NamedInterceptions[];
}

/** The extensions of an agent, with their loaded parts. */
export interface GivenExtensions {
  readonly extensions: readonly Extension[];
  /** Guardrails from files. They replace those of extensions with the same name. */
  readonly files: readonly Guardrail[];
  /** Sources that were left out. */
  readonly problems: readonly ExtensionProblem[];
}

/**
 * Splits extensions into the layers of an agent. Extensions come in the given order, then the agent's own parts. For
 * tools, the agent's own come first, because of two tools with one name the first is kept. An extension counts once.
 * For each moment, interceptions come before guardrails and around middleware.
 */
export function takeApart(given: GivenExtensions, own: AgentParts): JoinedParts {
  const extensions = [...new Set(given.extensions)];
  const interceptions = extensions.flatMap(({ name, on }) => (on ? [{ extension: name, on }] : []));
  const patches = toResultLayer(interceptions);
  const join = <Item>(read: (part: Omit<AgentParts, "tools">) => readonly Item[] | undefined) =>
    joinLists([...extensions, own].map(read));
  const { tools, problems } = joinTools(extensions, own.tools);
  const guardrails = joinGuardrails(extensions, given.files);
  return {
    tools,
    problems: Object.freeze([...given.problems, ...problems, ...guardrails.problems]),
    interceptions,
    hooks: combineHooks([...extensions, own].flatMap(({ hooks }) => hooks ?? [])),
    middleware: {
      agent: join(({ middleware }) => middleware?.agent),
      chat: join(({ middleware }) => middleware?.chat),
      function: joinLists([patches && [patches], join(({ middleware }) => middleware?.function)]),
    },
    guardrails: joinLists(
      [interceptions.flatMap(toGuardrails), guardrails.kept, own.guardrails].map((list) =>
        list?.length === 0 ? undefined : list,
      ),
    ),
    ephemeral: join(({ ephemeral }) => ephemeral),
    sections: join(({ sections }) => sections) ?? [],
    onSaved: extensions.flatMap(({ onSaved }) => onSaved ?? []),
  };
}

/** Merges guardrails of files and of extensions. Of those with one name, that of the first file is kept. */
function joinGuardrails(
  extensions: readonly Extension[],
  files: readonly Guardrail[],
): { readonly kept: readonly Guardrail[]; readonly problems: readonly ExtensionProblem[] } {
  const names = new Set(files.map(({ name }) => name));
  const first = files.filter(({ name }, index) => files.findIndex((other) => other.name === name) === index);
  const problems: ExtensionProblem[] = [];
  const kept = extensions.flatMap(({ name: extension, guardrails = [] }) =>
    guardrails.filter(({ name }) => {
      if (!names.has(name)) return true;
      problems.push({ extension, message: `its guardrail ${name} is replaced by a file of that name` });
      return false;
    }),
  );
  return { kept: [...first, ...kept], problems };
}

/** Concatenates lists. Undefined if no list is given: then nothing is configured. */
function joinLists<Item>(lists: readonly (readonly Item[] | undefined)[]): readonly Item[] | undefined {
  const known = lists.filter((list) => list !== undefined);
  return known.length < 2 ? known[0] : known.flat();
}

function joinTools(
  extensions: readonly Extension[],
  own: readonly Tool[],
): Pick<JoinedParts, "tools" | "problems"> {
  const owners = new Map(own.map(({ name }) => [name, "the agent"]));
  const tools = [...own];
  const problems: ExtensionProblem[] = [];
  for (const { name, tools: added = [] } of extensions)
    for (const tool of added) {
      const owner = owners.get(tool.name);
      // An agent that is made from another one already has the tools of its extensions.
      if (tools.includes(tool)) continue;
      if (owner === undefined) {
        owners.set(tool.name, `extension ${name}`);
        tools.push(tool);
      } else
        problems.push({
          extension: name,
          message: `its tool ${tool.name} is left out, because ${owner} has a tool of that name`,
        });
    }
  return { tools, problems };
}
