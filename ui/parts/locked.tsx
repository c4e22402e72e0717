import type { ReactNode } from "react";
import type { Scope } from "../api/records.ts";
import { Icon } from "./icon.tsx";
import { Empty } from "./states.tsx";

/**
 * Replaces a page that the user's key may not read: states the required scope, and the command to create a key with it.
 */
export function Locked({
  what,
  scope,
  command,
}: {
  readonly what: string;
  readonly scope: Scope;
  readonly command: string;
}): ReactNode {
  return (
    <Empty title={`${what} needs the scope ${scope}`} command={command}>
      <p>
        <Icon name="lock" /> Your key lacks it. Use a key with this scope, or this command.
      </p>
    </Empty>
  );
}
