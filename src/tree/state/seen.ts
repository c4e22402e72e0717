import type { AgentId, RunId } from "#kernel";
import { type MessageId, Json, type ObjectContext } from "#kernel";
import type { TreeWork } from "./tree-work.ts";
import { fingerprint } from "#base";

/**
 * Returns the name of a message in an agent's mailbox. All runs of the agent share it, so a message is delivered to one
 * of them only.
 */
export const mailName = (agent: AgentId, message: MessageId): SeenName => ["message", agent, message];

/*
 * Deduplication records of a tree: messages by agent and id, signals by run, name and id, operations by kind and id.
 * Entries are spread over a fixed number of values. So no value grows with all of them, and few are left to clear at
 * the end.
 */

const buckets = 64;

/** The name of something that counts once. Its parts are unambiguous for any content. */
export type SeenName = readonly [kind: string, ...parts: readonly string[]];

type Bucket = Readonly<Record<string, RunId | true>>;

const bucketKey = (bucket: number): string => `seen/${bucket}`;

const bucketOf = (text: string): number => Number.parseInt(fingerprint(text).slice(-4), 36) % buckets;

/** Returns the key of the value that records a name. */
export const seenKey = (name: SeenName): string => bucketKey(bucketOf(JSON.stringify(name)));

const readBucket = (object: ObjectContext, bucket: number): Bucket =>
  Json.as(object.get(bucketKey(bucket)) ?? {});

/** Returns the run that has it, or true. Null if it has not come yet. */
export function findSeen({ object }: TreeWork, name: SeenName): RunId | true | null {
  const text = JSON.stringify(name);
  return readBucket(object, bucketOf(text))[text] ?? null;
}

/** Records that it came, and the run that has it, if any. */
export function remember(work: TreeWork, name: SeenName, run: RunId | true): void {
  const text = JSON.stringify(name);
  const bucket = bucketOf(text);
  work.object.set(bucketKey(bucket), Json.of({ ...readBucket(work.object, bucket), [text]: run }));
}

/** Whether it comes for the first time. If so, records it. */
export function isFirst(work: TreeWork, name: SeenName): boolean {
  if (findSeen(work, name) !== null) return false;
  remember(work, name, true);
  return true;
}

/** Removes all records: an ended tree receives nothing. */
export function forgetSeen({ object }: TreeWork): void {
  for (const name of object.list("seen/")) object.clear(name);
}
