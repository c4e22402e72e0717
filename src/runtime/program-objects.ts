import type { ObjectDefinition } from "#kernel";
import { contentObject } from "#base";
import {
  scheduleObjects,
  sessionObject,
  switchesObject,
  tenantObject,
  treeObject,
  versionedObject,
  withBatch,
} from "#tree";
import type { treeHostOf } from "./agent-terms.ts";

/** Returns the objects of a program. All but content carry a protocol number in their calls and values. */
export function createObjects(trees: ReturnType<typeof treeHostOf>): readonly ObjectDefinition[] {
  const [tenants, switches] = [tenantObject(trees), switchesObject(trees)];
  const versioned = [sessionObject, tenants, switches, ...scheduleObjects].map(versionedObject);
  return [withBatch(versionedObject(treeObject(trees))), ...versioned, contentObject];
}
