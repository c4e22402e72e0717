const timeoutMs = 1_000;
/** Probes come often and from several sides: the server is asked once in so long. */
const freshMs = 1_000;

/** Whether work should be sent to this worker. */
export class Readiness {
  isRegistered = false;
  isDraining = false;
  readonly #ingress: string;
  #asked: { readonly at: number; readonly isReachable: Promise<boolean> } | null = null;

  constructor(ingress: string) {
    this.#ingress = ingress;
  }

  /** Why not, or null. */
  async obstacle(): Promise<string | null> {
    if (this.isDraining) return "draining";
    if (!this.isRegistered) return "not registered yet";
    return (await this.#isReachable()) ? null : `the ingress ${this.#ingress} does not answer`;
  }

  #isReachable(): Promise<boolean> {
    const now = performance.now();
    if (this.#asked === null || now - this.#asked.at > freshMs)
      this.#asked = { at: now, isReachable: isHealthy(`${this.#ingress}/restate/health`) };
    return this.#asked.isReachable;
  }
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}
