import { isDeepStrictEqual } from "node:util";
import type { NumberedEvent } from "#kernel";
import { perCall } from "./doubles.ts";
import type { Outcome } from "./play.ts";

const tokensPerCall = perCall.input + perCall.output;

/** Returns forbidden differences caused by crashes. At most `mostLost` calls died after they were made. */
export function differences(
  undisturbed: Outcome,
  disturbed: Outcome,
  { mostLost = 1 }: { readonly mostLost?: number } = {},
): readonly string[] {
  const found: string[] = [];
  const same = (what: string, was: unknown, is: unknown): void => {
    if (!isDeepStrictEqual(was, is)) found.push(`${what}: ${JSON.stringify(was)}, now ${JSON.stringify(is)}`);
  };
  same("result", undisturbed.result, disturbed.result);
  same("settled", undisturbed.settled, disturbed.settled);
  same("still reserved", undisturbed.reserved, disturbed.reserved);
  same("slots left", 0, disturbed.slots);
  same("left in the store", 0, disturbed.left);
  same("effects", keysOf(undisturbed.effects), keysOf(disturbed.effects));
  const deliveries = sum(disturbed.effects) - sum(undisturbed.effects);
  if (deliveries > mostLost) found.push(`delivered ${deliveries} times more`);
  found.push(...billDifferences(undisturbed, disturbed, mostLost), ...eventFaults(disturbed.events));
  return found;
}

/** A call that died after it was made is billed twice; the ledger holds its ceiling. */
function billDifferences(undisturbed: Outcome, disturbed: Outcome, mostLost: number): readonly string[] {
  const extra = [...disturbed.bill];
  const missing = undisturbed.bill.filter((text) => {
    const index = extra.indexOf(text);
    if (index !== -1) extra.splice(index, 1);
    return index === -1;
  });
  const covered = disturbed.inDoubt >= extra.length * tokensPerCall;
  return [
    ...missing.map((text) => `never asked: ${text}`),
    ...(extra.length > mostLost ? [`asked again: ${extra.join(", ")}`] : []),
    ...(covered ? [] : [`in doubt ${disturbed.inDoubt} for ${extra.length} calls without a settlement`]),
  ];
}

function eventFaults(events: readonly NumberedEvent[]): readonly string[] {
  const gaps = events
    .filter(({ seq }, index) => seq !== index + 1)
    .map(({ seq }) => `event ${seq} out of place`);
  const ids = events.map(({ eventId }) => eventId);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `told twice: ${id}`);
  return [...gaps, ...twice];
}

const keysOf = (effects: Outcome["effects"]): readonly string[] => [...effects.keys()].toSorted();
const sum = (effects: Outcome["effects"]): number => [...effects.values()].reduce((total, n) => total + n, 0);
