import { hash, randomUUID } from "node:crypto";
import { Json, TreeId, type RunStatus, type SentApproval, type SentResult } from "#kernel";
import { systemClock, withTimeout } from "#base";
import type { RunHandle } from "#runtime";
import type { Principal } from "./auth.ts";
import { checkScope } from "./gate.ts";
import { deciderOf } from "./users.ts";
import { withholdArguments, withholdOutput } from "./withhold.ts";

/** A decision about a question of a tree. */
export interface MountedDecision {
  readonly approval: string;
  readonly decision: "approved" | "denied" | "edited";
  readonly arguments?: unknown;
}

/**
 * A tree of the caller of a mounted part. Content is withheld as by the routes of the server, with one exception: what the
 * same key started through a mounted part is an answer to that key.
 */
export class MountedRun {
  readonly treeId: TreeId;
  readonly #run: RunHandle;
  readonly #principal: Principal;

  constructor(run: RunHandle, principal: Principal) {
    this.treeId = run.treeId;
    this.#run = run;
    this.#principal = principal;
  }

  status(): Promise<RunStatus> {
    return this.#run.status();
  }

  async cancel(): Promise<void> {
    await this.#run.cancel();
  }

  /** Waits for the end of the tree. */
  async result(): Promise<SentResult> {
    return this.#show(await this.#run.result());
  }

  /** Null: the tree still runs. */
  async resultNow(): Promise<SentResult | null> {
    const result = await this.#run.resultNow();
    return result && this.#show(result);
  }

  /** Waits for the end of the tree. Null if it still runs after `waitS` seconds, or waits for an approval. */
  wait(waitS: number): Promise<SentResult | null> {
    const limit = { clock: systemClock, ms: waitS * 1000, onTimeout: () => null, bestEffort: true };
    return withTimeout<SentResult | null>(limit, ({ signal }) => this.#waitForEndOrQuestion(signal));
  }

  /** Describes the end of the tree, for a tree that has no result. */
  describeEnd({ status, error, withheld }: SentResult): string {
    return `the run ended with status ${status}${error ? `: ${withheld ? error.code : error.message}` : ""}`;
  }

  /** Returns the questions that are open. */
  async questions(): Promise<readonly SentApproval[]> {
    const open = (await this.#run.approvals()).filter(({ decision }) => decision === null);
    return this.#isOwn() ? open : open.map((question) => withholdArguments(this.#principal, question));
  }

  /** Decides about a question. @throws HttpError if the key may not approve. */
  async decide({ approval, decision, arguments: given }: MountedDecision): Promise<void> {
    checkScope(this.#principal, "approve");
    const by = deciderOf(this.#principal);
    if (decision === "approved") await this.#run.approve(approval, { by });
    else if (decision === "denied") await this.#run.deny(approval, { by });
    else await this.#run.edit(approval, Json.of(given ?? null), { by });
  }

  /** Yields whenever the tree may have begun, or may have a question. Ends with the tree. */
  async *changes(signal: AbortSignal): AsyncGenerator<void, void> {
    for await (const { type } of this.#run.events({ signal }))
      if (type === "approval.requested" || type === "run.start") yield;
  }

  async #waitForEndOrQuestion(signal: AbortSignal): Promise<SentResult | null> {
    const hasQuestions = async (): Promise<boolean> => (await this.questions()).length > 0;
    if (await hasQuestions()) return null;
    for await (const _ of this.changes(signal)) if (await hasQuestions()) return null;
    return this.result();
  }

  #show(result: SentResult): SentResult {
    return this.#isOwn() ? result : withholdOutput(this.#principal, result);
  }

  #isOwn(): boolean {
    const [nonce = "", mark] = this.treeId.split(".");
    return mark === markOf(this.#principal, nonce);
  }
}

/**
 * Creates the id of a tree that a mounted part starts. It is bound to the key, so that any process knows whose answer the
 * tree is. No key can give an existing tree another id.
 */
export function mintTreeId(principal: Principal): TreeId {
  const nonce = randomUUID();
  return TreeId.of(`${nonce}.${markOf(principal, nonce)}`);
}

const markOf = ({ id }: Principal, nonce: string): string =>
  hash("sha256", JSON.stringify([id, nonce]), "base64url").slice(0, 22);
