import {
  toStopReason,
  AgentId,
  Continuation,
  Ended,
  IncompatibleVersionError,
  Json,
  ProgramError,
  ReplayDivergenceError,
  SpanId,
  type Agent,
  type AgentRunContext,
  type Approver,
  type CancellationToken,
  type Clock,
  type FailureLog,
  type Guardrail,
  type Permissions,
  type ExecutionPrimitives,
  type RunScope,
  type Store,
} from "#kernel";
import { agentVersion, throughLayers } from "#agents";
import { cancellationToken, deepFreeze, diagnose } from "#base";
import type { DeltaHub } from "#deltas";
import { Driver } from "./driver/driver.ts";
import {
  findLaunchProblem,
  isKnownProtocol,
  protocolNumber,
  readLaunchInput,
  RunRandom,
  type LaunchInput,
  type FinalResult,
  type InboxItem,
  type UnreadItems,
} from "#tree";
import { PromptSizes, type PriceList } from "./call-estimate.ts";
import { Children } from "./children.ts";
import { obeyOrder } from "./compaction-step.ts";
import { Journal } from "./driver/journal.ts";
import { reportProblems } from "./extension-calls.ts";
import type { ExtensionPort } from "./extension-host.ts";
import type { ReportFailure } from "./failures.ts";
import { GuardrailRunner } from "./guardrails.ts";
import { createOnEvents } from "./interceptions.ts";
import { dispatch, getItemLabels } from "./dispatch-item.ts";
import { createKeepInput, type InputOptions } from "./keep-input.ts";
import { InboxReader, Messaging } from "./messaging.ts";
import { createRunCache } from "./answer-cache.ts";
import { JournaledContext } from "./run-context.ts";
import {
  conclude,
  reportCrash,
  endChanged,
  endDirectly,
  endDiverged,
  outputOf,
  type FinishedRun,
  type Output,
} from "./run-exit.ts";
import { RunLabels, type RunPolicy, type RunServices } from "./run-services.ts";
import { PromptFiles } from "./read-files.ts";
import { RunSession } from "./run-session.ts";
import { createOpenMemory } from "./scoped-memory.ts";
import type { PromptDeps } from "./section-cache.ts";
import type { SwitchCache } from "./switch-cache.ts";
import { PartOrigins } from "./part-origins.ts";
import { StepRecorder } from "./step-manifest.ts";
import { flushTurn } from "./save-turn.ts";
import { inRun, type RunIdentity } from "./step.ts";
import { Subscriptions } from "./subscriptions.ts";
import { countUnread } from "./unread.ts";

/** The dependencies that all executions of a process share. */
interface ExecutionOptions extends InputOptions {
  /** Returns the agent of this version, if the process has it, else the newest. @throws NotFoundError */
  readonly agentOf: (type: string, version?: string) => Agent;
  /** Whether the program has an agent of this type. */
  readonly hasAgent: (type: string) => boolean;
  readonly clock: Clock;
  /** Receives failures of the program's code. Must not throw. */
  readonly log: FailureLog;
  /** Permissions for agents that have none. */
  readonly permissions: Permissions;
  /** The code that decides about approvals. Null if this worker has none. */
  readonly approver: Approver | null;
  /** Guardrails for every agent. */
  readonly guardrails: readonly Guardrail[];
  readonly deltas: DeltaHub;
  readonly prices: PriceList;
  /** The store of conversations. Null: this worker has none. */
  readonly store: Store | null;
  /** Seconds for which content of the retention `run` outlives its tree. */
  readonly eraseAfterS: number;
  /** Whether the content of steps is recorded. */
  readonly record: "off" | "steps";
  readonly prompt: PromptDeps;
  /** The switches that this process knows. */
  readonly switches: SwitchCache;
  readonly extensions: ExtensionPort;
}

/**
 * Executes a run: drives the agent's code, and reports its end. Returns the {@link FinalResult} of its tree, if that
 * has ended with it; else null.
 */
export async function execute(primitives: ExecutionPrimitives, options: ExecutionOptions): Promise<Json> {
  const { protocol } = primitives.launch;
  if (!isKnownProtocol(protocol))
    throw new IncompatibleVersionError({
      agent: "reeve (protocol)",
      wanted: String(protocol),
      present: String(protocolNumber),
    });
  const input = readLaunchInput(primitives.launch);
  const problem = primitives.keepsReferences ? null : findLaunchProblem(input);
  if (problem !== null) return endChanged(primitives, problem);
  const agent = options.agentOf(AgentId.type(input.agentId), input.version);
  const present = agentVersion(agent);
  if (present !== input.version) return refuseVersion(primitives, input, present);
  const journal = new Journal(primitives);
  try {
    const execution = createExecution(journal, options, { input, agent });
    return Json.of(await runAgent(primitives, execution, agent));
  } catch (error) {
    if (error instanceof ReplayDivergenceError) await endDiverged(primitives, error);
    throw error;
  }
}

/**
 * Refuses a run of another version, because this code would diverge from its journal. The run waits, unless it must end
 * anyway.
 */
async function refuseVersion(
  primitives: ExecutionPrimitives,
  input: LaunchInput,
  present: string,
): Promise<null> {
  const { cancelled } = await reportCrash(primitives, "version");
  if (cancelled === null)
    throw new IncompatibleVersionError({ agent: input.agentId, wanted: input.version, present });
  await endDirectly(primitives, { status: "cancelled", stopReason: toStopReason(cancelled), output: null });
  return null;
}

async function runAgent(
  primitives: ExecutionPrimitives,
  execution: Execution,
  agent: Agent,
): Promise<FinalResult | null> {
  const { engine, identity } = execution.services;
  const ending = await engine.driver.drive(() =>
    inRun(identity.scope, async () => {
      reportProblems(execution.services, execution.services.policy.launch.problems ?? []);
      const output = await runOrObey(agent, execution);
      if (Continuation.is(output)) await flushTurn(execution.services);
      return output;
    }),
  );
  return conclude(primitives, execution, { ending, cancelled: identity.meta.cancellation.reason });
}

/** Runs the agent's code, or makes the compaction that the run was started for. */
async function runOrObey(agent: Agent, execution: Execution): Promise<Output> {
  const { services, inbox } = execution;
  const { order } = services.state.session;
  if (!order) return runThrough(agent, execution);
  // The order is not a message to the agent.
  await inbox.next();
  return obeyOrder(services, order);
}

/** Runs the agent's code inside its own middleware. The layers are replayed with the code. */
async function runThrough(agent: Agent, { context: ctx, inbox, messaging }: Execution): Promise<Output> {
  const layers = agent.policy?.agent ?? [];
  if (layers.length === 0) return agent.run(ctx, inbox);
  const { runId, sessionId } = ctx.supervision;
  const task = inbox.first;
  const context: AgentRunContext = {
    agentName: agent.id,
    runId,
    sessionId,
    input: task?.text ?? "",
    result: undefined,
  };
  const answer = messaging.deferReply(task);
  const made: { output: Output } = { output: null };
  await throughLayers(layers, context, async () => {
    inbox.rewrite(context.input);
    made.output = await agent.run(ctx, inbox);
    context.result = outputOf(made.output);
  });
  const { output } = made;
  if (Continuation.is(output)) return output;
  // A cancelled run sends no more replies, and keeps its partial output.
  if (ctx.meta.cancellation.cancelled) return context.result ?? null;
  const result = context.result ?? null;
  if (!Ended.is(output) || output.status !== "failed") await answer(result);
  return Ended.is(output) ? Ended.of({ ...output, output: result }) : result;
}

interface Execution extends FinishedRun {
  readonly context: JournaledContext;
  readonly messaging: Messaging;
}

/** The agent of a run, and its launch input. */
interface LaunchedRun {
  readonly input: LaunchInput;
  readonly agent: Agent;
}

function createExecution(journal: Journal, options: ExecutionOptions, launched: LaunchedRun): Execution {
  const { input, agent } = launched;
  const { agentId, carried, secret, deadline, inbox: batch } = input;
  const { primitives } = journal;
  const token = cancellationToken();
  const identity = createIdentity(input, token);
  const { scope } = identity;
  const { runId } = scope;
  const random = new RunRandom(secret, runId, primitives.launch.continuation);
  const labels = new RunLabels(runId, carried?.labels);
  const origins = new PartOrigins(agent.tools ?? []);
  const onItem = (item: InboxItem): void => {
    labels.join(getItemLabels(item), "input", item.kind);
    origins.note(item);
    dispatch(item, { driver, inbox, children });
  };
  const policy = createPolicy(options, launched);
  const report: ReportFailure = (source, error) => {
    const diagnostic = diagnose(source, error);
    options.log({ tree: scope.treeId, run: runId, agent: AgentId.type(agentId), diagnostic });
    return diagnostic;
  };
  const onEvents = createOnEvents(() => services, { policy, report });
  const backlog = (): UnreadItems | undefined => countUnread({ inbox, subscriptions, waits: driver.waits });
  const driver = new Driver({ primitives, token, deadline, batch, onItem, onEvents, backlog });
  const inbox = new InboxReader(driver, journal);
  const requireAgent = ({ id }: { readonly id: AgentId }): void => {
    if (!options.hasAgent(AgentId.type(id))) throw new ProgramError({ problems: [notInProgram(id)] });
  };
  const uuid = (): string => random.uuid();
  const keepInput = createKeepInput(() => services, options);
  const children = new Children({ driver, labels, runId, uuid, requireAgent, keepInput }, carried?.tasks);
  const messaging = new Messaging({ driver, labels, runId, agentId, uuid, children, keepInput });
  const { clock, deltas, prices, store, switches } = options;
  const openFeed: RunServices["engine"]["openFeed"] = (step, attempt) =>
    deltas.begin(primitives.launch.tree.key, { runId, step, attempt });
  const openUpdates: RunServices["engine"]["openUpdates"] = (step, attempt) =>
    deltas.beginUpdates(primitives.launch.tree.key, { runId, step, attempt });
  const sizes = new PromptSizes(carried?.reported);
  const place = input.turn ?? null;
  const talk = { store, scope, agentId, clock, place, history: policy.agent.history };
  const session = new RunSession(talk, carried?.turn);
  const { retention } = identity.supervision;
  const manifests = options.record === "off" ? null : (store?.manifests ?? null);
  const steps = new StepRecorder({ store: manifests, scope, retention, clock, session, origins });
  const cache = createRunCache(store, { scope, retention, clock, eraseAfterS: options.eraseAfterS });
  const subscriptions = new Subscriptions({ driver, runId, token, uuid }, carried?.subscriptions);
  const openMemory = createOpenMemory(store, { scope, labels, clock });
  const watched = { hasPendingMessages: () => inbox.unread.length > 0, lastPrompt: { system: "" } };
  const files = new PromptFiles(primitives.launch.tree.key);
  const known = { labels, sizes, files, prices, session, openMemory, cache, steps, journal, random };
  const services: RunServices = {
    engine: { primitives, driver, clock, report, switches, openFeed, openUpdates },
    identity,
    policy,
    state: { ...known, ...watched, subscriptions },
  };
  const context = new JournaledContext({ services, agent, children, messaging, state: input.state });
  return { services, inbox, children, messaging, context };
}

const notInProgram = (id: AgentId): string =>
  `agent ${AgentId.type(id)} is not part of this program: put it on the team of an agent, or list it in createRuntime({ agents })`;

function createPolicy(
  { permissions, approver, guardrails, prompt, extensions }: ExecutionOptions,
  { input, agent }: LaunchedRun,
): RunPolicy {
  const own = agent.policy ?? {};
  return {
    agent: own,
    model: agent.model,
    tools: agent.tools ?? [],
    whitelist: input.tools,
    permissions: own.permissions ?? permissions,
    rules: input.rules,
    approver,
    launch: input.policy,
    guardrails: new GuardrailRunner([...guardrails, ...(own.guardrails ?? [])], input.carried?.notes),
    prompt,
    extensions,
  };
}

function createIdentity(input: LaunchInput, cancellation: CancellationToken): RunIdentity {
  const { agentId, version, traceId, secret } = input;
  const supervision = deepFreeze({ ...input.supervision });
  const { runId, treeId } = supervision;
  const scope: RunScope = Object.freeze({ ...input.scope, treeId, runId });
  const meta = Object.freeze({
    runId,
    cancellation,
    supervision,
    deadline: input.deadline,
    traceId,
    // Lazy, because few callers need it.
    get spanId() {
      return SpanId.of(runId);
    },
    tenantId: scope.tenantId,
    scope,
  });
  return { scope, agentId, agentVersion: version, traceId, secret, meta, supervision };
}
