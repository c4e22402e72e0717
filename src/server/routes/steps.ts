import { eraseError, type ManifestPart, NotFoundError, StepId, type StepManifest } from "#kernel";
import type { StepSummary } from "#runtime";
import { whose } from "../auth.ts";
import { answer, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";
import { runOf } from "./run-of.ts";
import { page } from "./runs.ts";

const id = shape.id(StepId.parse, "a step");

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
      const { runId } = await runOf(call);
      const { items, next } = await host.runtime.steps(runId, { ...whose(principal), ...query });
      return answer({ items: items.map(withoutContent), next });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/steps/:step",
    scope: "content",
    forUsers: true,
    summary: "What a step sent and got back, and whether it is equal to what was sent",
    handle: async (call) => {
      const { host, principal, params } = call;
      const step = id.decode(params["step"], "step");
      const { runId } = await runOf(call);
      if (StepId.run(step) !== runId) throw new NotFoundError({ what: "step", id: step });
      return answer(await host.runtime.prompt(step, whose(principal)));
    },
  }),
];

/** A step for a caller that may not read content: errors have their code only, and no hash tells of a content. */
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

function withoutHash(part: ManifestPart): Omit<ManifestPart, "hash"> {
  const { hash: _, ...shown } = part;
  return shown;
}
