import {
  CancellationError,
  checkTerms,
  decodeError,
  ExecutionBudget,
  Json,
  MessageId,
  type ChildHandle,
  type AgentSpec,
  type Input,
  type JoinOutcome,
  type RunId,
  type RunResult,
  type SpawnOptions,
} from "#kernel";
import type { InboxItem, SentContent, Task, TurnPosition } from "#tree";
import type { Driver } from "./driver/driver.ts";
import type { KeepInput, KeptInput } from "./keep-input.ts";
import type { RunLabels } from "./run-services.ts";

/** Maximum number of tasks that are carried into a fresh execution. */
const maxTasks = 1_000;

interface ChildrenDeps {
  readonly driver: Driver;
  readonly runId: RunId;
  readonly uuid: () => string;
  /** The labels of the content that the run has seen. They are sent with every task. */
  readonly labels: RunLabels;
  readonly keepInput: KeepInput;
  /** @throws ProgramError unless the agent can be spawned here. */
  readonly requireAgent: (agent: AgentSpec<unknown>) => void;
}

interface ChildOptions extends SpawnOptions {
  /** Whether the parent waits for a reply to the task. Default: false. */
  readonly asks?: boolean;
  /** The names of the tools that the child may call. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /** Its position in the conversation. Default: none. */
  readonly turn?: TurnPosition | undefined;
}

/** A handle without an output type, for any agent. */
type SpawnedHandle = Omit<ChildHandle, "~types">;

/** The runs that a run has spawned or waits for: their tasks, their pauses, their results. */
export class Children {
  readonly #deps: ChildrenDeps;
  /** The runs whose end the tree reports to this execution without a watch. */
  readonly #reported = new Set<RunId>();
  /** The tasks of children that were not asked yet. */
  readonly #tasks: Map<RunId, Task>;
  readonly #ended = new Map<RunId, RunResult>();
  /** The paused runs, with the last text of their model. */
  readonly #paused = new Map<RunId, SentContent | undefined>();

  constructor(deps: ChildrenDeps, tasks: readonly Task[] = []) {
    this.#deps = deps;
    this.#tasks = new Map(tasks.map((task) => [task.child, task]));
  }

  /** The newest tasks of children that were not asked yet, for a fresh execution. */
  get tasks(): readonly Task[] {
    return [...this.#tasks.values()].slice(-maxTasks);
  }

  /** Handles an inbox item about another run. */
  receive(item: Extract<InboxItem, { kind: "ended" | "childPaused" | "childResumed" }>): void {
    const { waits } = this.#deps.driver;
    if (item.kind === "ended") {
      this.#ended.set(item.run, item.result);
      waits.tell(`ended/${item.run}`, null);
    } else if (item.kind === "childPaused") {
      this.#paused.set(item.run, item.said);
      waits.tell(`paused/${item.run}`, null);
    } else {
      this.#paused.delete(item.run);
    }
  }

  spawn<Output>(
    agent: AgentSpec<Output>,
    input: Input | null,
    options: ChildOptions,
  ): Promise<ChildHandle<Output>> {
    this.#deps.requireAgent(agent);
    ExecutionBudget.of(options.budget);
    return this.#spawn(agent, input === null ? null : this.#deps.keepInput(input), options);
  }

  async #spawn(
    agent: AgentSpec<unknown>,
    task: KeptInput | null,
    options: ChildOptions,
  ): Promise<SpawnedHandle> {
    const { driver, uuid, labels } = this.#deps;
    checkTerms(options);
    const messageId = MessageId.of(uuid());
    // Nothing is awaited outside a step, so the order of the journal stays the same.
    const parts = task?.parts instanceof Promise ? await task.parts : (task?.parts ?? { text: null });
    const reply = await driver.report("spawn", {
      agentId: agent.id,
      ...parts,
      messageId,
      asks: options.asks ?? false,
      priority: options.priority ?? null,
      budget: options.budget ?? null,
      retention: options.retention ?? null,
      onFull: options.onFull ?? "deny",
      detached: options.detached ?? false,
      tools: options.tools ?? null,
      rules: options.permissions ?? [],
      ...(options.turn && { turn: options.turn }),
      labels: labels.told,
    });
    if ("error" in reply) {
      const error = decodeError(reply.error);
      if (error instanceof CancellationError) driver.acceptStop(error.reason);
      throw error;
    }
    this.#reported.add(reply.run);
    if (task !== null && !options.asks)
      this.#tasks.set(reply.run, { child: reply.run, message: messageId, print: task.print });
    return { runId: reply.run, agentId: agent.id, firstMessage: task === null ? null : messageId };
  }

  async join<Output>(handle: ChildHandle<Output>, onPause: "wait" | "return"): Promise<JoinOutcome<Output>> {
    const { runId } = handle;
    if (!this.#ended.has(runId)) await this.#watch(runId);
    const known = this.getResult<Output>(runId);
    if (known) return known;
    const returns = onPause === "return";
    if (returns && this.#paused.has(runId))
      return { status: "paused", handle, textSoFar: this.readWords(runId) };
    const keys = [`ended/${runId}`, ...(returns ? [`paused/${runId}`] : [])];
    const arrival = await this.#deps.driver.waits.first(keys, { on: runId });
    if (arrival.key.startsWith("paused/"))
      return { status: "paused", handle, textSoFar: this.readWords(runId) };
    return this.requireResult(runId);
  }

  /** Returns a run's result. Undefined if the run has not ended, as far as this execution knows. */
  getResult<Output>(run: RunId): RunResult<Output> | undefined {
    return Json.as(Json.of(this.#ended.get(run)));
  }

  /** Returns a run's result. @throws Error unless the run has ended. */
  requireResult<Output>(run: RunId): RunResult<Output> {
    const result = this.getResult<Output>(run);
    if (!result) throw new Error(`run ${run} ended without a result`);
    return result;
  }

  isPaused(run: RunId): boolean {
    return this.#paused.has(run);
  }

  /** Returns the last text of a paused run, and joins its labels. Null: none. */
  readWords(run: RunId): string | null {
    const said = this.#paused.get(run);
    this.#deps.labels.join(said?.labels, "input", "words");
    return said?.text ?? null;
  }

  /** Returns a child's task, once. Undefined if the child was asked before, or is another run's. */
  takeTask(child: RunId): Task | undefined {
    const task = this.#tasks.get(child);
    this.#tasks.delete(child);
    return task;
  }

  /** Records that the tree reports the end of a run without a watch, because this run waits for its reply. */
  expect(run: RunId): void {
    this.#reported.add(run);
  }

  /** Asks the tree to report the end of a run, unless it does so already. */
  async #watch(target: RunId): Promise<void> {
    if (this.#reported.has(target)) return;
    const { driver, runId, labels } = this.#deps;
    const result = await driver.call("watch", { run: runId, target, at: driver.time });
    if (result) {
      labels.join(result.labels, "input", "ended");
      this.#ended.set(target, result);
    }
    this.#reported.add(target);
  }
}
