import { eraseError, type ManifestPart, NotFoundError, StepId, type StepManifest } from "#kernel";
import type { StepSummary } from "#runtime";
import { whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";
import { type ComparedStep, compareSteps } from "../step-diff.ts";
import { findRun } from "./find-run.ts";
import { page } from "./runs.ts";

const id = shape.id(StepId.parse, "a step");
const comparison = { diff: shape.optional(id) } as const;

export const stepRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/runs/:run/steps",
    scope: "read",
    forUsers: true,
    summary: "The model and tool steps of a run, oldest first, without content",
    query: shape.object(page),
    handle: async (call) => {
      const { host, principal, query } = call;
      const { runId } = await findRun(call);
      const { items, next } = await host.runtime.steps(runId, { ...whose(principal), ...query });
      return toJsonResponse({ items: items.map(withoutContent), next });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/steps/:step",
    scope: "content",
    forUsers: true,
    summary: "The request and the response of a step; `diff` names a step whose parts are left out",
    query: shape.object(comparison),
    handle: async (call) => toJsonResponse(await readCompared(call)),
  }),
  route({
    method: "get",
    path: "/runs/:run/steps/:step/figures",
    scope: "read",
    forUsers: true,
    summary: "The attempts, bill, decisions and parts of a step, without content",
    query: shape.object(comparison),
    handle: async (call) => {
      const { prompt, answer: answered, replaced, ...step } = await readCompared(call);
      return toJsonResponse({
        ...withoutContent(step),
        prompt: prompt.map(withoutText),
        answer: answered.map(withoutText),
        replaced: replaced.map(withoutText),
      });
    },
  }),
];

/** Reads the step of an address, and the one that it is compared with. @throws NotFoundError if either is not of the run. */
async function readCompared(call: Call<{ readonly diff?: StepId }>): Promise<ComparedStep> {
  const { host, principal, params, query } = call;
  const step = id.decode(params["step"], "step");
  const { runId } = await findRun(call);
  for (const each of [step, query.diff ?? step])
    if (StepId.run(each) !== runId) throw new NotFoundError({ what: "step", id: each });
  const [shown, other] = await Promise.all([
    host.runtime.prompt(step, whose(principal)),
    query.diff === undefined ? null : host.runtime.prompt(query.diff, whose(principal)),
  ]);
  return compareSteps(shown, other);
}

/**
 * Returns a step for a caller that may not read content: errors keep only their code, and content hashes are removed.
 */
function withoutContent({ manifest, ...step }: StepSummary): object {
  return { ...step, manifest: manifest && withoutHashes(manifest) };
}

function withoutHashes(manifest: StepManifest): object {
  const { promptHash: _, base, attempts, prompt, answer: answered, decisions, ...rest } = manifest;
  return {
    ...rest,
    ...(base && { follows: { step: base.step, parts: base.parts } }),
    attempts: attempts.map(({ error, ...attempt }) =>
      error ? Object.assign(attempt, { error: eraseError(error) }) : attempt,
    ),
    prompt: prompt.map(withoutHash),
    answer: answered.map(withoutHash),
    decisions: decisions.map(({ by, layer, decision }) => ({ by, layer, decision })),
  };
}

function withoutHash<Part extends ManifestPart>(part: Part): Omit<Part, "hash"> {
  const { hash: _, ...shown } = part;
  return shown;
}

function withoutText(part: ComparedStep["prompt"][number]): object {
  const { content: _, ...shown } = withoutHash(part);
  return shown;
}
