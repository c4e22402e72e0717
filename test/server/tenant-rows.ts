import type { JsonObject } from "#kernel";

/** A route that is for the whole tenant. */
interface TenantRow {
  readonly answer: "tenant";
  readonly body?: () => JsonObject;
}

const tenant: TenantRow = { answer: "tenant" };
const act: TenantRow = { answer: "tenant", body: () => ({}) };

const sendEmail: TenantRow = { answer: "tenant", body: () => ({ kind: "tool", name: "send_email" }) };

/** The routes of webhooks, switches, budgets and the audit, which concern all users of a tenant. */
export const tenantRows: Readonly<Record<string, readonly TenantRow[]>> = {
  "post /dev/faults": [{ answer: "tenant", body: () => ({ kind: "slow" }) }],
  "post /budget": [{ answer: "tenant", body: () => ({ maxTokens: 1, per: "day" }) }],
  "post /budget/remove": [act],
  "get /audit": [tenant],
  "get /audit/head": [tenant],
  "get /audit/report": [tenant],
  "post /audit/verify": [act],
  "get /switches": [tenant],
  "post /switches/disable": [sendEmail],
  "post /switches/enable": [sendEmail],
  "get /webhooks": [tenant],
  "get /webhooks/:webhook": [tenant],
  // Removed first, so that later requests find one.
  "delete /webhooks/:webhook": [tenant],
  "put /webhooks/:webhook": [
    { answer: "tenant", body: () => ({ url: "https://receiver.example/", events: ["budget.warning"] }) },
  ],
  "post /webhooks/:webhook/rotate-secret": [act],
  "get /webhooks/:webhook/deliveries": [tenant],
  "post /webhooks/:webhook/redeliver": [act],
};

/** Routes about the caller itself, its spend and the server. */
export const keyRows: Readonly<
  Record<string, readonly { readonly answer: "own"; readonly body?: () => JsonObject }[]>
> = {
  "get /openapi.json": [{ answer: "own" }],
  "get /agents": [{ answer: "own" }],
  "get /me": [{ answer: "own" }],
  "post /session": [{ answer: "own", body: () => ({}) }],
  "delete /session": [{ answer: "own" }],
  "get /status": [{ answer: "own" }],
  "get /tenant": [{ answer: "own" }],
  "get /spend": [{ answer: "own" }],
  "get /spend/in-doubt": [{ answer: "own" }],
};

interface StepRow {
  readonly answer: "hidden";
  readonly query?: (named: { readonly step: string }) => string;
}

const compared: readonly StepRow[] = [
  { answer: "hidden" },
  { answer: "hidden", query: ({ step }) => `?diff=${step}` },
];

/** Routes about the steps and events of a run. */
export const stepRows: Readonly<Record<string, readonly StepRow[]>> = {
  "get /runs/:run/steps": [{ answer: "hidden" }, { answer: "hidden", query: () => "?size=1" }],
  "get /runs/:run/steps/:step": compared,
  "get /runs/:run/steps/:step/figures": compared,
  "get /runs/:run/log": [{ answer: "hidden" }, { answer: "hidden", query: () => "?own=true&type=budget" }],
};

interface LiveRow {
  readonly answer: "own" | "hidden";
  readonly query?: (named: { readonly run: string }) => string;
  readonly body?: (named: { readonly run: string }) => JsonObject;
}

/** The live stream, and the routes that set what it watches. */
export const liveRows: Readonly<Record<string, readonly LiveRow[]>> = {
  "get /live": [
    { answer: "own" },
    { answer: "hidden", query: ({ run }) => `?trees=${run}:3` },
    { answer: "hidden", query: ({ run }) => `?deltas=${run}~0` },
  ],
  "post /live/:live": [
    { answer: "hidden", body: () => ({}) },
    { answer: "hidden", body: ({ run }) => ({ trees: [{ tree: run }], deltas: [`${run}~0`] }) },
  ],
};
