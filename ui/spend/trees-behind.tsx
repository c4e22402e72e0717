import type { ReactNode } from "react";
import { Link } from "wouter";
import { errorText, segment } from "../api/http.ts";
import { countText } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { useSpend } from "./queries.ts";
import { type Column, exactDollars } from "./range.ts";

const shown = 12;

/** The trees that a bar consists of, most expensive first. */
export function TreesBehind({
  column,
  onClose,
}: {
  readonly column: Column;
  readonly onClose: () => void;
}): ReactNode {
  const { data, error } = useSpend({ from: column.from, to: column.to, by: "tree", size: shown });
  const items = data?.items ?? [];
  return (
    <section className="card behind" aria-label={`Runs behind ${column.title}`}>
      <header>
        <h2>Runs behind {column.title}</h2>
        <span className="muted">
          {data?.more === true ? `the ${shown} most expensive` : countText(items.length, "tree")}
        </span>
        <Button label="Close" hint="Esc" size="small" onPress={onClose} />
      </header>
      {error && <p className="problem">{errorText(error)}</p>}
      {data && items.length === 0 && <p className="sub">Nothing was spent.</p>}
      <ul>
        {items.map(({ tree, settledMicros, inDoubtMicros, calls }) => (
          <li key={tree ?? ""}>
            {tree === null || tree === undefined ? (
              <span className="sub">older trees, added up</span>
            ) : (
              <Link href={`/runs/${segment(tree)}`} className="el">
                <InertText text={tree} />
              </Link>
            )}
            <span className="muted">{countText(calls, "call")}</span>
            <span className="num">{exactDollars(settledMicros + inDoubtMicros)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
