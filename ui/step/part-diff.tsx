import { type ChangeObject, diffWordsWithSpace } from "diff";
import { type ReactNode, useEffect, useState } from "react";
import { InertText } from "../parts/inert-text.tsx";

type Change = Pick<ChangeObject<string>, "value" | "added" | "removed">;

/** Characters above which texts are compared in pieces, so that the page does not freeze. */
const maxAtOnce = 50_000;
/** The time after which a comparison is given up: the texts have little in common. */
const maxMs = 2_000;

/** Starts a comparison by words. Returns the result if it is available at once. */
function compare(
  before: string,
  after: string,
  onDone: (changes: readonly Change[] | null) => void,
): readonly Change[] | null {
  if (before.length + after.length <= maxAtOnce) {
    const changes = diffWordsWithSpace(before, after, { timeout: maxMs });
    return changes ?? toWhole(before, after);
  }
  const callback = (changes: readonly Change[] | undefined): void =>
    onDone(changes ?? toWhole(before, after));
  diffWordsWithSpace(before, after, { timeout: maxMs, callback });
  return null;
}

const toWhole = (before: string, after: string): readonly Change[] => [
  { value: before, added: false, removed: true },
  { value: after, added: true, removed: false },
];

/** Unchanged text around a change that is shown, in characters. */
const context = 240;

/** Shows the difference of two texts by words. Long unchanged parts are cut in the middle. */
export function PartDiff({ before, after }: { readonly before: string; readonly after: string }): ReactNode {
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setChanges(compare(before, after, (made) => isCurrent && setChanges(made)));
    return () => {
      isCurrent = false;
    };
  }, [before, after]);
  if (!changes) return <p className="sub note">Comparing…</p>;
  return (
    <pre className="part-diff">
      {changes.map((change, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- changes have no identity of their own
        <Changed key={index} change={change} />
      ))}
    </pre>
  );
}

function Changed({ change: { value, added, removed } }: { readonly change: Change }): ReactNode {
  if (added)
    return (
      <ins>
        <InertText text={value} />
      </ins>
    );
  if (removed)
    return (
      <del>
        <InertText text={value} />
      </del>
    );
  const isLong = value.length > 2 * context;
  if (!isLong) return <InertText text={value} />;
  return (
    <>
      <InertText text={value.slice(0, context)} />
      <span className="muted"> … the same … </span>
      <InertText text={value.slice(-context)} />
    </>
  );
}
