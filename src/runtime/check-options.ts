import { checkDuration, ExecutionBudget, type Agent, type Guardrail } from "#kernel";

/** The options of a runtime that contain durations. */
interface TimedOptions {
  readonly agents: readonly Agent[];
  readonly guardrails?: readonly Guardrail[];
  readonly approvalExpiresS?: number;
  readonly yieldTimeoutS?: number;
  readonly cancelGraceS?: number;
  readonly eraseAfterS?: number;
  readonly priorityAgingMs?: number;
  readonly sweepEveryS?: number;
}

/** Checks every duration of a runtime, its agents and its guardrails. @throws RangeError on an invalid one. */
export function checkDurations(options: TimedOptions): void {
  const { approvalExpiresS = 0, yieldTimeoutS = 0, cancelGraceS = 0, eraseAfterS = 0 } = options;
  const durations = { approvalExpiresS, yieldTimeoutS, cancelGraceS, eraseAfterS };
  for (const [name, duration] of Object.entries(durations)) checkDuration(name, duration);
  const { priorityAgingMs = 1, sweepEveryS = 1 } = options;
  for (const [name, period] of Object.entries({ priorityAgingMs, sweepEveryS }))
    checkDuration(name, period, { min: 0.001 });
  for (const { budget, policy = {} } of options.agents) {
    ExecutionBudget.of(budget);
    checkDuration("baseMs", policy.retry?.baseMs ?? 0);
    checkGuardrails(policy.guardrails);
  }
  checkGuardrails(options.guardrails);
}

function checkGuardrails(guardrails: readonly Guardrail[] = []): void {
  for (const { name, timeoutS = 0 } of guardrails) checkDuration(`timeoutS of guardrail ${name}`, timeoutS);
}
