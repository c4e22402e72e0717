import type {
  EphemeralSource,
  Extension,
  Guardrail,
  Hooks,
  MiddlewareSet,
  PromptSection,
  SavedTurnHandler,
  Tool,
} from "#kernel";
import { combineHooks } from "../hooks/hook-manager.ts";

/** The parts of an agent that extensions may add to. */
export interface AgentParts {
  readonly tools: readonly Tool[];
  readonly hooks?: Hooks | undefined;
  readonly middleware?: MiddlewareSet | undefined;
  readonly guardrails?: readonly Guardrail[] | undefined;
  readonly sections?: readonly PromptSection[] | undefined;
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
}

/** An agent's own parts together with those of its extensions. */
export interface JoinedParts extends AgentParts {
  readonly sections: readonly PromptSection[];
  /** Parts that were left out, each with the reason. */
  readonly problems: readonly string[];
  readonly onSaved: readonly SavedTurnHandler[];
}

/**
 * Takes extensions apart into the layers of an agent. Extensions come in the order given, then the agent's own parts; for
 * tools the agent's own come first, because of two tools with one name the first is kept. An extension counts once.
 */
export function takeApart(given: readonly Extension[], own: AgentParts): JoinedParts {
  const extensions = [...new Set(given)];
  const join = <Item>(read: (part: Omit<AgentParts, "tools">) => readonly Item[] | undefined) =>
    joinLists([...extensions, own].map(read));
  return {
    ...joinTools(extensions, own.tools),
    hooks: combineHooks([...extensions, own].flatMap(({ hooks }) => hooks ?? [])),
    middleware: {
      agent: join(({ middleware }) => middleware?.agent),
      chat: join(({ middleware }) => middleware?.chat),
      function: join(({ middleware }) => middleware?.function),
    },
    guardrails: join(({ guardrails }) => guardrails),
    ephemeral: join(({ ephemeral }) => ephemeral),
    sections: join(({ sections }) => sections) ?? [],
    onSaved: extensions.flatMap(({ onSaved }) => onSaved ?? []),
  };
}

/** Undefined where no list is given: nothing is configured then. */
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
  const problems: string[] = [];
  for (const { name, tools: added = [] } of extensions)
    for (const tool of added) {
      const owner = owners.get(tool.name);
      // An agent that is made from another one has the tools of its extensions already.
      if (tools.includes(tool)) continue;
      if (owner === undefined) {
        owners.set(tool.name, `extension ${name}`);
        tools.push(tool);
      } else
        problems.push(
          `extension ${name}: its tool ${tool.name} is left out, because ${owner} has a tool of that name`,
        );
    }
  return { tools, problems: Object.freeze(problems) };
}
