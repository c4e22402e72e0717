import { Json, type Labels } from "#kernel";
import type { InboxItem } from "#tree";
import type { Children } from "./children.ts";
import type { Driver } from "./driver/driver.ts";
import type { InboxReader } from "./messaging.ts";

/** Returns the labels of an inbox item. They count from now on, read or not. */
export function getItemLabels(item: InboxItem): Labels | undefined {
  if ("envelope" in item) return item.envelope.labels;
  if (item.kind === "ended") return item.result.labels;
  return item.kind === "reply" || item.kind === "signal" ? item.labels : undefined;
}

/** Passes an inbox item to the part of the run that waits for it. */
export function dispatch(
  item: InboxItem,
  {
    driver,
    inbox,
    children,
  }: { readonly driver: Driver; readonly inbox: InboxReader; readonly children: Children },
): void {
  switch (item.kind) {
    case "message":
    case "steer":
    case "followUp":
      return inbox.receive(item.kind, item.envelope);
    case "topic":
      return driver.waits.arrive(`topic/${item.subscription}`, Json.of(item.envelope));
    case "reply":
      return driver.waits.arrive(`reply/${item.ask}`, Json.of({ text: item.text, data: item.data }));
    case "signal":
      return driver.waits.arrive(`signal/${item.name}`, item.data);
    case "approval": {
      const { hash, decision } = item;
      return driver.waits.arrive(`approval/${item.approval}`, Json.of({ hash, decision }));
    }
    case "askGoesOn":
      return driver.waits.arrive(`ask-goes-on/${item.ask}`, item.leftMs);
    case "budget":
      return driver.waits.arrive(`budget/${item.step}`, null);
    case "ended":
    case "childPaused":
    case "childResumed":
      return children.receive(item);
    case "pause":
    case "resume":
    case "abortCall":
    case "cancel":
  }
}
