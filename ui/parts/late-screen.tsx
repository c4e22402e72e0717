import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Skeleton } from "./states.tsx";

/** A screen with code of its own. */
export interface LateScreen<Props> {
  readonly Screen: ComponentType<Props>;
  /** Loads the code before the screen is opened. */
  readonly preload: () => void;
}

/**
 * Creates a screen whose code is loaded when it is first opened, or before. It is shown as soon as its code is there,
 * while React's Suspense keeps a placeholder for at least 300 ms.
 */
export function lateScreen<Props extends object>(
  label: string,
  load: () => Promise<ComponentType<Props>>,
): LateScreen<Props> {
  let loaded: ComponentType<Props> | null = null;
  const loadOnce = async (): Promise<ComponentType<Props>> => (loaded ??= await load());
  function Screen(props: Props): ReactNode {
    const [Shown, setShown] = useState(() => loaded);
    const [failure, setFailure] = useState<unknown>(null);
    useEffect(() => {
      if (!Shown) loadOnce().then((component) => setShown(() => component), setFailure);
    }, [Shown]);
    // The boundary around all screens shows it.
    if (failure !== null) throw failure;
    return Shown ? <Shown {...props} /> : <Skeleton label={label} />;
  }
  return { Screen, preload: () => void loadOnce().catch(() => undefined) };
}
