import { memo, type ReactNode } from "react";
import { Link } from "wouter";
import { segment } from "../api/http.ts";

const tabs = [
  ["tree", "Tree"],
  ["steps", "Steps"],
  ["conversation", "Conversation"],
  ["ledger", "Ledger"],
  ["events", "Events"],
] as const;

/** The views of one tree. */
export const TabLinks = memo(function TabLinks({
  tree,
  tab,
}: {
  readonly tree: string;
  readonly tab: string;
}): ReactNode {
  return (
    <nav className="tabs" aria-label="Views of the tree">
      {tabs.map(([name, title]) => (
        <Link
          key={name}
          href={name === "tree" ? `/runs/${segment(tree)}` : `/runs/${segment(tree)}/${name}`}
          aria-current={name === tab ? "page" : undefined}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
});
