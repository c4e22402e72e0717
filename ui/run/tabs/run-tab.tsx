import type { ReactNode } from "react";
import type { TreeView } from "#view";
import { NothingHere } from "../../parts/states.tsx";
import { TabLinks } from "../tab-links.tsx";
import { ConversationTab } from "./conversation-tab.tsx";
import { EventsTab } from "./events-tab.tsx";
import { LedgerTab } from "./ledger-tab.tsx";
import { StepsTab } from "./steps-tab.tsx";
// oxlint-disable-next-line import/no-unassigned-import -- styles of this part
import "../../step/step.css";
// oxlint-disable-next-line import/no-unassigned-import -- styles of this part
import "./tabs.css";

/** A view of a tree beside the tree itself. */
export function RunTab({ tree, tab }: { readonly tree: TreeView; readonly tab: string }): ReactNode {
  const Tab = Object.hasOwn(views, tab) ? views[tab] : undefined;
  if (!Tab) return <NothingHere />;
  return (
    <div className="tab-body">
      <TabLinks tree={tree.treeId} tab={tab} />
      <Tab tree={tree} />
    </div>
  );
}

const views: Readonly<Record<string, ((props: { readonly tree: TreeView }) => ReactNode) | undefined>> = {
  steps: StepsTab,
  conversation: ConversationTab,
  ledger: LedgerTab,
  events: EventsTab,
};
