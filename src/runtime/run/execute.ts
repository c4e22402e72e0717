import {
  AgentId,
  BudgetExhaustedError,
  CancellationError,
  encodeError,
  IncompatibleVersionError,
  Json,
  MiddlewareTermination,
  NestedStepError,
  NotFoundError,
  ReeveError,
  ReplayDivergenceError,
  UnjournaledAwaitError,
  type Agent,
  type Clock,
  type Continuation,
  type Primitives,
  type RunMeta,
  type RunScope,
} from "#kernel";
import { cancellationToken } from "#agents";
import { Driver, type Ending } from "../driver/driver.ts";
import { seededRandom, uuidFrom } from "../random.ts";
import { stopReasonOf } from "../tree/life.ts";
import type { Entrance } from "../tree/protocol.ts";
import type { EndReport, InboxItem } from "../tree/records.ts";
import { inRun } from "./ambient.ts";
import { Helpers } from "./helpers.ts";
import { InboxReader } from "./inbox-reader.ts";
import { JournaledContext } from "./run-context.ts";

/** What executions share. */
export interface ExecutionOptions {
  /** @throws NotFoundError */
  readonly agentOf: (type: string) => Agent;
  readonly clock: Clock;
  readonly permissions: "ask" | "allow-all";
}

type Output = Json | Continuation | void;

/** One execution of a run: enters its tree, drives the agent's code, and says how it ended. */
export async function execute(primitives: Primitives, options: ExecutionOptions): Promise<void> {
  const entrance = await enter(primitives);
  if (!entrance) return;
  const agent = options.agentOf(AgentId.type(entrance.agentId));
  const present = agent.version ?? "1";
  if (present !== entrance.version) {
    throw new IncompatibleVersionError({ agent: entrance.agentId, wanted: entrance.version, present });
  }
  const { driver, inbox, context, scope } = assemble(primitives, options, entrance, agent);
  const ending = await driver.drive(() => inRun(scope, () => agent.run(context, inbox)));
  await conclude(primitives, driver, inbox, ending, context.meta.cancellation.reason);
}

async function enter(primitives: Primitives): Promise<Entrance | null> {
  const { tree, runId: run, continuation } = primitives.launch;
  const operation = primitives.call(tree, "enter", { run, continuation, at: 0 });
  await primitives.pick([operation]);
  if (!operation.outcome?.ok) throw new NotFoundError({ what: "tree", id: tree.key });
  return Json.as(operation.outcome.value);
}

function assemble(
  primitives: Primitives,
  { agentOf, clock, permissions }: ExecutionOptions,
  entrance: Entrance,
  agent: Agent,
): { driver: Driver; inbox: InboxReader; context: JournaledContext; scope: RunScope } {
  const { supervision, agentId } = entrance;
  const { runId, treeId } = supervision;
  const token = cancellationToken();
  const random = seededRandom(`${runId}/${primitives.launch.continuation}`);
  const scope: RunScope = Object.freeze({ ...entrance.scope, treeId, runId });
  const meta: RunMeta = Object.freeze({
    runId,
    cancellation: token,
    supervision,
    deadline: entrance.deadline,
    traceId: entrance.traceId,
    spanId: runId,
    tenantId: scope.tenantId,
    scope,
  });
  const receive = (item: InboxItem): void => dispatch(item, driver, inbox, helpers);
  const driver = new Driver({
    primitives,
    token,
    deadline: entrance.deadline,
    news: entrance.news,
    onItem: receive,
  });
  const inbox = new InboxReader(driver);
  const know = ({ id }: { readonly id: AgentId }): void => void agentOf(AgentId.type(id));
  const helpers = new Helpers({ driver, runId, agentId, uuid: () => uuidFrom(random), know });
  const context = new JournaledContext({
    primitives,
    driver,
    clock,
    scope,
    agent,
    meta,
    supervision,
    helpers,
    random,
    permissions,
    state: entrance.state,
    model: agent.model,
    prices: entrance.prices,
    tools: agent.tools ?? [],
    whitelist: entrance.tools,
  });
  return { driver, inbox, context, scope };
}

function dispatch(item: InboxItem, driver: Driver, inbox: InboxReader, helpers: Helpers): void {
  switch (item.kind) {
    case "message":
    case "steer":
    case "followUp":
      return inbox.receive(item.kind, item.envelope);
    case "topic":
      return driver.waits.arrive(`topic/${item.envelope.topic}`, Json.of(item.envelope));
    case "reply":
      return driver.waits.arrive(`reply/${item.ask}`, Json.of({ text: item.text, data: item.data }));
    case "signal":
      return driver.waits.arrive(`signal/${item.name}`, item.data);
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

async function conclude(
  primitives: Primitives,
  driver: Driver,
  inbox: InboxReader,
  ending: Ending<Output>,
  cancelled: string | null,
): Promise<void> {
  if (cancelled === null && ending.kind === "returned" && isContinuation(ending.value)) {
    await driver.finish("continue", { state: ending.value.state, unread: inbox.unread });
    return;
  }
  if (cancelled === null && ending.kind === "threw" && (await isGivenBack(primitives, ending.error)))
    throw ending.error;
  const isPoison = cancelled === null && ending.kind === "threw" && !isVerdict(ending.error);
  const poison = isPoison ? inbox.inHand?.id : undefined;
  await driver.finish("end", { end: { ...endReport(ending, cancelled), ...(poison && { poison }) } });
}

/** Should the engine execute the run again, or people look at it? Then this execution just ends. */
async function isGivenBack(primitives: Primitives, error: unknown): Promise<boolean> {
  const { canPause, launch, epoch } = primitives;
  const at = primitives.now();
  if (error instanceof ReplayDivergenceError) {
    if (canPause) return true;
    const end: EndReport = { status: "failed", stopReason: "error", output: null, error: error.toJSON() };
    await primitives.direct(launch.tree, "end", Json.of({ run: launch.runId, reports: [], at, end }));
    return true;
  }
  if (isVerdict(error)) return false;
  const reply = await primitives.direct(launch.tree, "crashed", { run: launch.runId, epoch, at });
  return Json.as<{ readonly again: boolean }>(reply).again;
}

/** Errors that would come again: the run is not started once more for them. */
function isVerdict(error: unknown): boolean {
  return (
    error instanceof BudgetExhaustedError ||
    error instanceof CancellationError ||
    error instanceof MiddlewareTermination ||
    error instanceof UnjournaledAwaitError ||
    error instanceof NestedStepError
  );
}

function endReport(ending: Ending<Output>, cancelled: string | null): EndReport {
  const output =
    ending.kind === "returned" && !isContinuation(ending.value) ? Json.of(ending.value ?? null) : null;
  if (cancelled !== null) return { status: "cancelled", stopReason: stopReasonOf(cancelled), output };
  if (ending.kind === "returned") return { status: "completed", stopReason: "answer", output };
  return { status: "failed", stopReason: stopReason(ending.error), output, error: encodeError(ending.error) };
}

function stopReason(error: unknown): EndReport["stopReason"] {
  if (error instanceof BudgetExhaustedError) return `budget.${error.dimension}`;
  if (error instanceof MiddlewareTermination) return "terminated";
  return ReeveError.is(error) && error.code === "dead-letter" ? "dead-letter" : "error";
}

function isContinuation(value: unknown): value is Continuation {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "continue-as";
}
