// Records the operations of runs: what a golden journal holds. Two parts:
//
// 1. Sequences: every operation of every run of the simulation's scenarios, in order. The simulated world is
//    deterministic, so they are compared exactly.
// 2. Shapes: for each kind of operation and of stored value, the paths and types of its argument, result or launch, over
//    all cases of the engine suite. Which of them occur depends on time, so the known ones must only contain those that occur.
import {
  delegateObject,
  delegatePrimitives,
  isJsonObject,
  Json,
  type EngineProgram,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectMethod,
  type Operation,
  type ExecutionPrimitives,
  type RunLaunch,
} from "#kernel";
import type { LaunchInput } from "#tree";
import { sample } from "../effort.ts";
import { storedForm } from "../stored-form.ts";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { type EngineCase, engineSuite, type SuiteHarness } from "reeve/testing/suites";
import { inLanes } from "../engines/restate/scenarios/lanes.ts";
import { play } from "../simulation/play.ts";
import { scenarios } from "../simulation/scenarios.ts";

/** The operations of a protocol. */
export interface GoldenJournal {
  /** By scenario and run. */
  readonly sequences: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** By kind of operation. */
  readonly shapes: Readonly<Record<string, readonly string[]>>;
}

interface Recorder {
  readonly recordIssue: (run: string, operation: string) => void;
  readonly recordValue: (operation: string, value: Json) => void;
}

/** Content of users and models, and maps by names of theirs: their insides are no part of the protocol. */
const free: ReadonlySet<string> = new Set(
  "data output state arguments metadata note notes value content message prices error input result providerOptions".split(
    " ",
  ),
);

function* pathsOf(value: Json, path = ""): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* pathsOf(item, `${path}[]`);
  else if (isJsonObject(value))
    for (const [name, inner] of Object.entries(value)) {
      const isStored = path === "" && name === "value";
      if (free.has(name) && !isStored) yield `${path}.${name}: json`;
      // Maps by run, message, model or number are one shape.
      else yield* pathsOf(inner ?? null, `${path}.${/^[a-z]\w*$/i.test(name) ? name : "*"}`);
    }
  else yield `${path}: ${value === null ? "null" : typeof value}`;
}

const ownKinds: ReadonlySet<string> = new Set("model tool decide close guard approve now".split(" "));

/** The kind of a step: one of ours, or `user` for all names that agents choose. */
function kindOf(name: string): string {
  const [kind = name] = name.split(":", 1);
  return ownKinds.has(kind) ? kind : "user";
}

function recorded(inner: ExecutionPrimitives, { recordIssue, recordValue }: Recorder): ExecutionPrimitives {
  const { runId, continuation } = inner.launch;
  const run = `${runId}/${continuation}`;
  const note = (name: string, operation: Operation): Operation => {
    recordIssue(run, name);
    return operation;
  };
  recordValue("launch", inner.launch.input);
  return delegatePrimitives(inner, {
    keepsReferences: false,
    step: (name, closure) =>
      note(
        `step ${name}`,
        inner.step(name, async (io) => {
          const result = await closure(io);
          recordValue(`step ${kindOf(name)}`, result);
          return result;
        }),
      ),
    call: (to, method, argument) => {
      recordValue(`call ${to.type}.${method}`, argument);
      return note(`call ${to.type}.${method}`, inner.call(to, method, argument));
    },
    wake: (name) => note(`wake ${name}`, inner.wake(name)),
    sleepUntil: (at) => note("sleep", inner.sleepUntil(at)),
    waitForCancel: () => note("cancelled", inner.waitForCancel()),
    callUnjournaled: (to, method, argument) => {
      recordValue(`direct ${to.type}.${method}`, argument);
      return inner.callUnjournaled(to, method, argument);
    },
  });
}

const recording =
  (recorder: Recorder) =>
  (program: EngineProgram): EngineProgram => ({
    ...program,
    objects: program.objects.map((definition) => recordedObject(storedForm(definition), recorder)),
    run: (primitives) => program.run(recorded(primitives, recorder)),
  });

function recordedObject(definition: ObjectDefinition, recorder: Recorder): ObjectDefinition {
  const methods = Object.entries(definition.methods).map(
    ([name, method]): readonly [string, ObjectMethod] => [
      name,
      (object, argument) => method(storing(object, definition.type, recorder), argument),
    ],
  );
  return { ...definition, methods: Object.fromEntries(methods) };
}

/**
 * An object whose stored values are recorded, by the first part of their names. The info of an erased tree has the shape
 * of every info: which trees a case lives to see erased depends on time.
 */
function storing(object: ObjectContext, type: string, { recordValue }: Recorder): ObjectContext {
  const store = (name: string, value: Json): void => {
    const [kind = name] = name.split("/", 1);
    recordValue(`state ${type}.${kind === "erased" ? "info" : kind}`, value);
  };
  return delegateObject(object, {
    set: (name, value) => {
      store(name, value);
      object.set(name, value);
    },
  });
}

/** Returns a launch as the previous release made it. */
function previousLaunch({ input, ...launch }: RunLaunch): RunLaunch {
  const { inbox, ...rest } = Json.as<LaunchInput>(input);
  const { slotState: standing, ...batch } = inbox;
  return Json.as(Json.of({ ...launch, protocol: 2, entrance: { ...rest, news: { ...batch, standing } } }));
}

/** Lets runs begin as if the previous release had launched them. */
const launchedBefore = (program: EngineProgram): EngineProgram => ({
  ...program,
  run: (inner) => program.run(delegatePrimitives(inner, { launch: previousLaunch(inner.launch) })),
});

/** Records the operations of runs that the previous release has launched. */
export const recordPrevious = (): Promise<GoldenJournal["sequences"]> => sequences(launchedBefore);

async function sequences(
  begin = (program: EngineProgram): EngineProgram => program,
): Promise<GoldenJournal["sequences"]> {
  const all: Record<string, Record<string, string[]>> = {};
  for (const scenario of scenarios) {
    const runs: Record<string, string[]> = (all[scenario.name] = {});
    const recordIssue: Recorder["recordIssue"] = (run, operation) => void (runs[run] ??= []).push(operation);
    const layer = recording({ recordIssue, recordValue: () => undefined });
    await play(scenario, undefined, (program) => layer(begin(program)));
  }
  return all;
}

async function shapes(
  cases: readonly EngineCase[],
  fuzzed: readonly boolean[],
): Promise<GoldenJournal["shapes"]> {
  const all = new Map<string, Set<string>>();
  const recordValue: Recorder["recordValue"] = (operation, value) => {
    const known = all.get(operation) ?? new Set();
    all.set(operation, known);
    for (const path of pathsOf(value)) known.add(path);
  };
  const layer = recording({ recordIssue: () => undefined, recordValue });
  const runtimeOn =
    (replayEveryStep: boolean): SuiteHarness["runtime"] =>
    async (options) => {
      const engine = local({ replayEveryStep });
      const define: typeof engine.define = (program) => engine.define(layer(program));
      return new Runtime({ ...options, engine: { ...engine, define } });
    };
  for (const replayEveryStep of fuzzed)
    await inLanes(cases, 12, (engineCase) =>
      engineCase.run({ runtime: runtimeOn(replayEveryStep), slowness: 20 }),
    );
  return Object.fromEntries(
    [...all]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, paths]) => [name, [...paths].toSorted()]),
  );
}

/** Records the journal of the current source, with shapes of a part of the suite: each commit tries another. */
export async function recordJournal(): Promise<GoldenJournal> {
  const cases = sample(engineSuite, 0.3, ({ name }) => name);
  return { sequences: await sequences(), shapes: await shapes(cases, [false]) };
}

/** Also records the shapes that occur only when everything is replayed: for the reference file. */
export async function recordGolden(): Promise<GoldenJournal> {
  return { sequences: await sequences(), shapes: await shapes(engineSuite, [false, true, false]) };
}
