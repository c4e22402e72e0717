import type { CSSProperties, ReactNode } from "react";
import { spendLevel, type SpendView } from "#view";
import { dollars, limitDollars, type Micros } from "./amounts.ts";

/** Money as a bar shows it. */
export type Spend = Omit<SpendView, "freeMicros">;

/** Describes the bar for screen readers. */
function spendText(spend: Spend): string {
  const {
    settledMicros: settled,
    reservedMicros: reserved,
    inDoubtMicros: inDoubt,
    maxCostMicros: cap,
  } = spend;
  const doubt = inDoubt > 0 ? `, ${dollars(inDoubt)} in doubt` : "";
  const limit = cap === null ? "" : ` of ${limitDollars(cap)}`;
  return `${dollars(settled)} spent, ${dollars(reserved)} reserved${doubt}${limit}`;
}

const heats = { normal: "", high: "warm", full: "hot" } as const;

function heatOf({ settledMicros, inDoubtMicros, maxCostMicros }: Spend): string {
  return maxCostMicros === null ? "" : heats[spendLevel(settledMicros + inDoubtMicros, maxCostMicros)];
}

/** Custom properties of a style, which React's type does not include. */
type BarStyle = CSSProperties & Readonly<Record<`--${string}`, string>>;

/** Shares of the limit in percent. */
function sharesOf(spend: Spend): BarStyle {
  const {
    settledMicros: settled,
    reservedMicros: reserved,
    inDoubtMicros: inDoubt,
    maxCostMicros: cap,
  } = spend;
  const used = settled + reserved + inDoubt;
  const whole = Math.max(cap ?? 0, used, 1);
  const share = (part: Micros): string => ((100 * part) / whole).toFixed(2);
  return { "--s": share(settled), "--r": share(reserved), "--d": share(inDoubt) };
}

/** Money as a bar with four parts: spent (solid), reserved (hatched), in doubt (dotted), free. Without a limit it is empty. */
export function SpendBar({
  spend,
  ended = false,
  big = false,
}: {
  readonly spend: Spend;
  /** Whether the bar is grey, because the run has ended. */
  readonly ended?: boolean;
  readonly big?: boolean;
}): ReactNode {
  const classes = [
    "bar",
    big && "big",
    ended ? "done" : heatOf(spend),
    spend.maxCostMicros === null && "none",
  ];
  return (
    <span
      className={classes.filter(Boolean).join(" ")}
      role="img"
      aria-label={spendText(spend)}
      style={sharesOf(spend)}
    >
      {spend.maxCostMicros !== null && (
        <>
          <i />
          <b />
          <u />
        </>
      )}
    </span>
  );
}

/** A sample of one part of a bar, beside its amount. */
export function BarSample({
  part,
}: {
  /** Null: the free part. */
  readonly part: "settledMicros" | "reservedMicros" | "inDoubtMicros" | null;
}): ReactNode {
  const nothing: Spend = { settledMicros: 0, reservedMicros: 0, inDoubtMicros: 0, maxCostMicros: 1 };
  return (
    <span
      className="bar"
      aria-hidden="true"
      style={sharesOf(part === null ? nothing : { ...nothing, [part]: 1 })}
    >
      <i />
      <b />
      <u />
    </span>
  );
}

/** The amount, its bar and the limit, in the columns of a row. */
export function MoneyCell({
  spend,
  ended,
  withoutLimit = "no limit",
}: {
  readonly spend: Spend;
  readonly ended: boolean;
  /** Shown if there is no limit, or it is unknown. */
  readonly withoutLimit?: string;
}): ReactNode {
  return (
    <>
      <span className="num">{dollars(spend.settledMicros + spend.inDoubtMicros)}</span>
      <SpendBar spend={spend} ended={ended} />
      <span className="cap muted">
        {spend.maxCostMicros === null ? withoutLimit : limitDollars(spend.maxCostMicros)}
      </span>
    </>
  );
}
