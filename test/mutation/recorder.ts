import { afterEach, beforeEach } from "vitest";

/*
 * A setup file of the measuring run: writes down, for each test, the functions that it has entered.
 */

const entered = new Set<string>();
const atLoad: { functions: readonly string[] | null } = { functions: null };

Object.assign(globalThis, { reeveRecord: (name: string) => void entered.add(name) });

beforeEach(() => {
  atLoad.functions ??= [...entered];
  entered.clear();
});

afterEach(({ task }) => {
  // Code that a module runs when it is loaded counts for every test of the file.
  Object.assign(task.meta, { entered: [...entered, ...(atLoad.functions ?? [])] });
});
