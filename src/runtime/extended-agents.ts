// The agents of a runtime, with the extensions of the runtime and those that extensions load.
//
// Job: rebuild each agent with more extensions than its own: when the runtime is created, when extensions are loaded
// and when they are reloaded. Neighbours: check-program finds and checks the agents; agents/extensions takes extensions
// apart.
//
// Invariants:
// 1. A load that fails changes nothing: all agents keep their parts.
// 2. A run that was launched with an earlier version of an agent continues with it, as long as this process has it.
import {
  AgentId,
  ProgramError,
  type Agent,
  type Extension,
  type Hooks,
  type LoadedParts,
  type MiddlewareSet,
} from "#kernel";
import { agentVersion, extendAgent, extension, extensionsOf, type Expand } from "#agents";
import { errorMessage } from "#base";

/** Parts that all agents of a runtime have, before their own. */
export interface RuntimeParts {
  readonly middleware?: MiddlewareSet | undefined;
  readonly hooks?: Hooks | undefined;
  readonly extensions?: readonly Extension[] | undefined;
}

/** Checks agents before they replace others. @throws ProgramError */
type CheckAgents = (agents: readonly Agent[]) => void;

/** Maximum number of earlier versions of an agent that a process keeps. */
const maxFormer = 8;

/** The agents of a runtime, as they are executed. */
export class ExtendedAgents {
  readonly #given: ReadonlyMap<string, Agent>;
  readonly #shared: readonly Extension[];
  readonly #loaders: ReadonlySet<Extension>;
  readonly #current = new Map<string, Agent>();
  readonly #former = new Map<string, readonly Agent[]>();
  #loading: Promise<void> | null = null;

  constructor(given: ReadonlyMap<string, Agent>, { middleware, hooks, extensions = [] }: RuntimeParts) {
    this.#given = given;
    const own = middleware || hooks ? [extension({ name: "runtime", middleware, hooks })] : [];
    this.#shared = [...own, ...extensions];
    const all = [...this.#shared, ...[...given.values()].flatMap(extensionsOf)];
    this.#loaders = new Set(all.filter(({ load }) => load !== undefined));
    this.#build(new Map());
  }

  /** The agents by their type. The map changes when extensions are loaded. */
  get byType(): ReadonlyMap<string, Agent> {
    return this.#current;
  }

  /** Returns the agent of this type, by default the newest. Undefined: none. */
  get(type: string, version?: string): Agent | undefined {
    const newest = this.#current.get(type);
    if (!newest || version === undefined || agentVersion(newest) === version) return newest;
    return this.#former.get(type)?.find((agent) => agentVersion(agent) === version) ?? newest;
  }

  /** Whether the code of an agent is that of the program's agent of its name. */
  isKnown({ id, run }: Pick<Agent<unknown>, "id" | "run">): boolean {
    const type = AgentId.type(id);
    const known = [this.#given.get(type), this.#current.get(type), ...(this.#former.get(type) ?? [])];
    return known.some((agent) => agent?.run === run);
  }

  /** Whether extensions have to be loaded before the first run. */
  get mustLoad(): boolean {
    return this.#loaders.size > 0;
  }

  /** Loads the parts of extensions, once. @throws ProgramError with the parts that cannot be loaded. */
  load(check: CheckAgents): Promise<void> {
    return (this.#loading ??= this.reload(check).catch((error: unknown) => {
      this.#loading = null;
      throw error;
    }));
  }

  /**
   * Loads the parts again. They apply to runs that are launched from now on. @throws ProgramError, and nothing has
   * changed.
   */
  async reload(check: CheckAgents): Promise<void> {
    if (!this.mustLoad) return;
    const loaded = await Promise.allSettled(
      [...this.#loaders].map(async (loader) => [loader, (await loader.load?.()) ?? {}] as const),
    );
    const problems = loaded.flatMap((part) =>
      part.status === "rejected" ? [errorMessage(part.reason)] : [],
    );
    if (problems.length > 0) throw new ProgramError({ problems });
    const parts = new Map(loaded.flatMap((part) => (part.status === "fulfilled" ? [part.value] : [])));
    this.#build(parts, check);
    this.#loading = Promise.resolve();
  }

  #build(loaded: ReadonlyMap<Extension, LoadedParts>, check?: CheckAgents): void {
    const isPlain = this.#shared.length === 0 && loaded.size === 0;
    const expand: Expand = (own) => this.#expand(own, loaded);
    const built = [...this.#given].map(
      ([type, agent]) => [type, isPlain ? agent : extendAgent(agent, expand)] as const,
    );
    check?.(built.map(([, agent]) => agent));
    for (const [type, agent] of built) {
      const before = this.#current.get(type);
      if (before && agentVersion(before) !== agentVersion(agent)) this.#keep(type, before);
      this.#current.set(type, agent);
    }
  }

  #keep(type: string, agent: Agent): void {
    const version = agentVersion(agent);
    const others = (this.#former.get(type) ?? []).filter((other) => agentVersion(other) !== version);
    this.#former.set(type, [agent, ...others].slice(0, maxFormer));
  }

  /** Puts the extensions of the runtime first, and the loaded parts of an extension right after it. */
  #expand(own: readonly Extension[], loaded: ReadonlyMap<Extension, LoadedParts>): ReturnType<Expand> {
    const given = [...this.#shared, ...own];
    const parts = given.map((part) => loaded.get(part));
    return {
      extensions: given.flatMap((part, index) => [part].concat(parts[index]?.extensions ?? [])),
      files: parts.flatMap((part) => part?.guardrails ?? []),
      problems: parts.flatMap((part) => part?.problems ?? []),
    };
  }
}
