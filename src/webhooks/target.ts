import { isJsonObject, Json, type WebhookRecord } from "#kernel";

/** A secret, and until when requests are signed with it. */
export interface TargetSecret {
  readonly value: string;
  /** Null: without end. */
  readonly until: number | null;
}

/** The part of a webhook that is content: where it goes, and what signs it. The newest secret is first. */
export interface WebhookTarget {
  readonly url: string;
  readonly secrets: readonly TargetSecret[];
}

/** Reads the target of a stored webhook. @throws TypeError */
export function readTarget({ id, target }: WebhookRecord): WebhookTarget {
  if (!isJsonObject(target) || typeof target["url"] !== "string" || !Array.isArray(target["secrets"]))
    throw new TypeError(`webhook ${id} has no target`);
  return Json.as(target);
}

/** Returns the secrets that sign a request now. */
export const secretsAt = ({ secrets }: WebhookTarget, now: number): readonly string[] =>
  secrets.filter(({ until }) => until === null || until > now).map(({ value }) => value);
