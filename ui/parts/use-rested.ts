import { useEffect, useState } from "react";

/** The time after which a value that no longer changes is used: longer than a held key takes to repeat. */
const restMs = 150;

/**
 * Returns the value once it has stayed the same for a moment, and until then the one before. Requests use it, so moving
 * through a list asks only for the last item.
 */
export function useRested<Value>(value: Value): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(() => value), restMs);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
