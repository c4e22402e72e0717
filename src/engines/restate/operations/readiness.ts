const timeoutMs = 1_000;
/** Minimum time between two checks of the server, because probes come often and from several sides. */
const freshMs = 1_000;

/** Decides whether work should be sent to this worker. */
export class Readiness {
  isRegistered = false;
  isDraining = false;
  readonly #ingress: readonly string[];
  #asked: { readonly at: number; readonly isReachable: Promise<boolean> } | null = null;

  /** `ingress`: the address of each node. One that answers is enough. */
  constructor(ingress: readonly string[]) {
    this.#ingress = ingress;
  }

  /** Returns the reason why not. Null: it should. */
  async blocker(): Promise<string | null> {
    if (this.isDraining) return "draining";
    if (!this.isRegistered) return "not registered yet";
    return (await this.#isReachable()) ? null : `the ingress ${this.#ingress.join(", ")} does not answer`;
  }

  #isReachable(): Promise<boolean> {
    const now = performance.now();
    if (this.#asked === null || now - this.#asked.at > freshMs)
      this.#asked = { at: now, isReachable: isAnyHealthy(this.#ingress) };
    return this.#asked.isReachable;
  }
}

async function isAnyHealthy(nodes: readonly string[]): Promise<boolean> {
  const healthy = await Promise.all(nodes.map((node) => isHealthy(`${node}/restate/health`)));
  return healthy.includes(true);
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}
