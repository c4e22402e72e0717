import {
  AgentId,
  IncompatibleVersionError,
  Json,
  ReplayDivergenceError,
  SpanId,
  type Agent,
  type AgentRunContext,
  type CancellationToken,
  type Clock,
  type Continuation,
  type Ended,
  type Guardrail,
  type Labels,
  type Permissions,
  type Primitives,
  type RunMeta,
  type RunScope,
  type Supervision,
} from "#kernel";
import { cancellationToken, throughLayers } from "#agents";
import type { DeltaHub } from "../deltas/delta-hub.ts";
import { Driver } from "../driver/driver.ts";
import { seededRandom, uuidFrom } from "../random.ts";
import { stopReasonOf } from "../tree/life.ts";
import type { Entrance } from "../tree/protocol.ts";
import type { InboxItem } from "../tree/records.ts";
import { inRun } from "./ambient.ts";
import {
  conclude,
  crashed,
  endDirectly,
  endDiverged,
  isMark,
  outputOf,
  type Finished,
  type Output,
} from "./conclude.ts";
import { Guards } from "./guards.ts";
import { Helpers } from "./helpers.ts";
import { InboxReader } from "./inbox-reader.ts";
import { Observer } from "./observer.ts";
import { JournaledContext } from "./run-context.ts";
import { RunLabels } from "./run-labels.ts";
import type { ApprovalPolicy } from "./tool-host.ts";

/** What executions share. */
export interface ExecutionOptions {
  /** @throws NotFoundError */
  readonly agentOf: (type: string) => Agent;
  readonly clock: Clock;
  /** Who decides about tools where the agent says nothing. */
  readonly permissions: Permissions;
  readonly approvals: ApprovalPolicy;
  /** Who looks at what goes in and out of every agent. */
  readonly guardrails: readonly Guardrail[];
  readonly ruleOfTwo: "ask" | "off";
  readonly deltas: DeltaHub;
}

/** One execution of a run: drives the agent's code, and says how it ended. */
export async function execute(primitives: Primitives, options: ExecutionOptions): Promise<void> {
  const entrance = Json.as<Entrance>(primitives.launch.entrance);
  const agent = options.agentOf(AgentId.type(entrance.agentId));
  const present = agent.version ?? "1";
  if (present !== entrance.version) return refuse(primitives, entrance, present);
  try {
    await perform(primitives, assemble(primitives, options, entrance, agent), agent);
  } catch (error) {
    if (error instanceof ReplayDivergenceError) await endDiverged(primitives, error);
    throw error;
  }
}

/** Another version's code would not find its way in the journal: the run waits, unless it is to end anyway. */
async function refuse(primitives: Primitives, entrance: Entrance, present: string): Promise<void> {
  const { cancelled } = await crashed(primitives, "version");
  if (cancelled === null)
    throw new IncompatibleVersionError({ agent: entrance.agentId, wanted: entrance.version, present });
  await endDirectly(primitives, { status: "cancelled", stopReason: stopReasonOf(cancelled), output: null });
}

async function perform(primitives: Primitives, assembled: Assembled, agent: Agent): Promise<void> {
  const { driver, context, scope, observer } = assembled;
  const { priority, parentRunId } = context.supervision;
  const began = driver.time;
  observer.seenLive("run.start", { priority, parentRunId, traceId: context.meta.traceId });
  const ending = await driver.drive(() => inRun(scope, () => runThrough(agent, assembled)));
  const end = await conclude(primitives, assembled, ending, context.meta.cancellation.reason);
  if (!end) return;
  const { error, ...totals } = end;
  observer.seenLive("run.end", { ...totals, durationMs: driver.time - began, ...(error && { error }) });
}

/** The agent's code inside its own middleware. Replayed: the layers see what the code sees. */
async function runThrough(agent: Agent, { context: ctx, inbox, helpers }: Assembled): Promise<Output> {
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
  const answer = helpers.withhold(task);
  const made: { output: Output } = { output: null };
  await throughLayers(layers, context, async () => {
    inbox.rewrite(context.input);
    made.output = await agent.run(ctx, inbox);
    context.result = outputOf(made.output);
  });
  const { output } = made;
  if (isMark<Continuation>(output, "continue-as")) return output;
  const result = context.result ?? null;
  if (!isMark<Ended>(output, "ended") || output.status !== "failed") await answer(result);
  return isMark<Ended>(output, "ended") ? { ...output, output: result } : result;
}

interface Assembled extends Finished {
  readonly helpers: Helpers;
  readonly context: JournaledContext;
  readonly scope: RunScope;
  readonly observer: Observer;
}

function assemble(
  primitives: Primitives,
  options: ExecutionOptions,
  entrance: Entrance,
  agent: Agent,
): Assembled {
  const { agentOf, deltas, guardrails, clock, permissions, approvals, ruleOfTwo } = options;
  const { agentId, carried } = entrance;
  const supervision = frozen(entrance.supervision);
  const { runId, treeId } = supervision;
  const token = cancellationToken();
  const random = seededRandom(`${runId}/${primitives.launch.continuation}`);
  const { meta, scope } = badgeOf(entrance, supervision, token);
  const { deadline, news } = entrance;
  const labels = new RunLabels(carried?.labels);
  const onItem = (item: InboxItem): void => {
    labels.join(labelsOf(item));
    dispatch(item, driver, inbox, helpers);
  };
  const driver = new Driver({ primitives, token, deadline, news, onItem });
  const inbox = new InboxReader(driver);
  const know = ({ id }: { readonly id: AgentId }): void => void agentOf(AgentId.type(id));
  const policy = agent.policy ?? {};
  const observer = new Observer(primitives, driver, { treeId, runId, agent: agentId }, policy.hooks);
  const uuid = (): string => uuidFrom(random);
  const helpers = new Helpers({ driver, observer, labels, runId, agentId, uuid, know });
  const guards = new Guards([...guardrails, ...(policy.guardrails ?? [])], carried?.notes);
  const context = new JournaledContext({
    primitives,
    driver,
    clock,
    permissions,
    approvals,
    ruleOfTwo,
    scope,
    agent,
    meta,
    supervision,
    helpers,
    random,
    guards,
    labels,
    rules: entrance.rules,
    traceId: entrance.traceId,
    agentId,
    agentVersion: entrance.version,
    policy,
    observer,
    reported: new Map(),
    feedOf: (step, attempt) => deltas.begin(primitives.launch.tree.key, { runId, step, attempt }),
    state: entrance.state,
    model: agent.model,
    prices: entrance.prices,
    tools: agent.tools ?? [],
    whitelist: entrance.tools,
  });
  return { driver, inbox, labels, guards, helpers, context, scope, observer };
}

function badgeOf(
  entrance: Entrance,
  supervision: Supervision,
  cancellation: CancellationToken,
): { readonly meta: RunMeta; readonly scope: RunScope } {
  const { runId, treeId } = supervision;
  const scope: RunScope = Object.freeze({ ...entrance.scope, treeId, runId });
  const meta = Object.freeze({
    runId,
    cancellation,
    supervision,
    deadline: entrance.deadline,
    traceId: entrance.traceId,
    // Few ask for it.
    get spanId() {
      return SpanId.of(runId);
    },
    tenantId: scope.tenantId,
    scope,
  });
  return { meta, scope };
}

/** What came over a wire, frozen as policy is. */
function frozen(supervision: Supervision): Supervision {
  const { spawnBudget, executionBudget } = supervision;
  const budgets = {
    spawnBudget: Object.freeze(spawnBudget),
    executionBudget: Object.freeze(executionBudget),
  };
  return Object.freeze({ ...supervision, ...budgets });
}

/** What comes with something from the inbox: it is seen from now on, read or not. */
function labelsOf(item: InboxItem): Labels | undefined {
  if ("envelope" in item) return item.envelope.labels;
  if (item.kind === "ended") return item.result.labels;
  return item.kind === "reply" || item.kind === "signal" ? item.labels : undefined;
}

function dispatch(item: InboxItem, driver: Driver, inbox: InboxReader, helpers: Helpers): void {
  switch (item.kind) {
    case "message":
    case "steer":
    case "followUp":
      return inbox.receive(item.kind, item.envelope);
    case "topic":
      return driver.waits.arrive(`topic/${item.subscription}`, Json.of(item.envelope));
    case "reply":
      return driver.waits.arrive(`reply/${item.ask}`, Json.of({ text: item.text, data: item.data }));
    case "signal":
      return driver.waits.arrive(`signal/${item.name}`, item.data);
    case "approval": {
      const { hash, decision } = item;
      return driver.waits.arrive(`approval/${item.approval}`, Json.of({ hash, decision }));
    }
    case "ended":
    case "childPaused":
    case "childResumed":
      return helpers.receive(item);
    case "pause":
    case "resume":
    case "abortCall":
    case "cancel":
  }
}
