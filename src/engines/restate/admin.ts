import { attempts } from "./attempts.ts";

const registration = { firstMs: 50, lastMs: 1_000, totalMs: 30_000 };

/** The two things we ask of Restate's admin. */
export class Admin {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Makes the endpoint at this address known, or known anew. Waits for a server that does not answer yet. */
  async register(uri: string): Promise<void> {
    let problem = "";
    for await (const _ of attempts(registration)) {
      const answer = await fetch(`${this.#url}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ uri, force: true }),
      }).catch((error: unknown) => String(error));
      if (typeof answer === "string") problem = answer;
      else {
        problem = `${answer.status} ${await answer.text()}`;
        if (answer.ok) return;
      }
    }
    throw new Error(`could not register ${uri} with ${this.#url}: ${problem}`);
  }

  /** Stops the retries of an execution until an operator resumes it. */
  async pause(execution: string): Promise<void> {
    const answer = await fetch(`${this.#url}/invocations/${execution}/pause`, { method: "PATCH" });
    await answer.text();
  }
}
