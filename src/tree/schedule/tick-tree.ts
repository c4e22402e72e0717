import { hash } from "node:crypto";
import { TreeId } from "#kernel";
import type { ScheduleReply } from "./schedule-protocol.ts";

/**
 * Returns the id of the tree that a tick starts: schedule, tick and a tag. The same tick has the same id in every try.
 * The tag is derived from a random number of the schedule, so no caller can start a tree of that id first.
 */
export function tickTree({ spec, state }: ScheduleReply, tick: number): TreeId {
  const time = new Date(tick).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const tag = hash("sha256", `${state.nonce}/${tick}`).slice(0, 16);
  return TreeId.of(`${spec.id}.${time}.${tag}`);
}
