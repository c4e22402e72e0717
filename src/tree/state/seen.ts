import type { AgentId, RunId } from "#kernel";
import { type MessageId, Json, type ObjectContext } from "#kernel";
import type { TreeWork } from "./tree-work.ts";
import { fingerprint } from "#base";

/** A mailbox is an agent's: what one of its runs was given, no other gets again. */
export const mailName = (agent: AgentId, message: MessageId): SeenName => ["message", agent, message];

/*
 * What came once is remembered, so that it does not count again: messages by agent and id, signals by run, name and id,
 * operations by kind and id. Entries are spread over a fixed number of values, so that no value grows with all of them
 * and few are left to clear at the end.
 */

const buckets = 64;

/** Names something that counts once, part by part: parts are kept apart whatever they contain. */
export type SeenName = readonly [kind: string, ...parts: readonly string[]];

type Bucket = Readonly<Record<string, RunId | true>>;

const bucketKey = (bucket: number): string => `seen/${bucket}`;

const bucketOf = (text: string): number => Number.parseInt(fingerprint(text).slice(-4), 36) % buckets;

/** The key of the value in which a name is remembered. */
export const seenKey = (name: SeenName): string => bucketKey(bucketOf(JSON.stringify(name)));

const read = (object: ObjectContext, bucket: number): Bucket => Json.as(object.get(bucketKey(bucket)) ?? {});

/** The run that has it, or true; null if it has not come yet. */
export function seen({ object }: TreeWork, name: SeenName): RunId | true | null {
  const text = JSON.stringify(name);
  return read(object, bucketOf(text))[text] ?? null;
}

/** Remembers that it came, and which run has it where one does. */
export function remember(work: TreeWork, name: SeenName, run: RunId | true): void {
  const text = JSON.stringify(name);
  const bucket = bucketOf(text);
  work.object.set(bucketKey(bucket), Json.of({ ...read(work.object, bucket), [text]: run }));
}

/** Whether it comes for the first time. Then it is remembered. */
export function isFirst(work: TreeWork, name: SeenName): boolean {
  if (seen(work, name) !== null) return false;
  remember(work, name, true);
  return true;
}

/** Forgets everything: nothing can come to a tree that has ended. */
export function forgetSeen({ object }: TreeWork): void {
  for (const name of object.list("seen/")) object.clear(name);
}
