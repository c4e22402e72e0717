import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Json } from "#kernel";
import {
  createVitest,
  type InlineConfig,
  type Reporter,
  type TestSpecification,
  type Vitest,
} from "vitest/node";
import { instrument } from "./functions.ts";
import { apply, type Mutant } from "./mutants.ts";
import { root } from "./parts.ts";

/** A test, as the measuring run saw it. */
export interface MeasuredTest {
  readonly id: string;
  readonly file: string;
  readonly name: string;
  readonly ms: number;
  /** Functions that it has entered, as `file:start`. */
  readonly entered: readonly string[];
}

/** An order of the parent process. */
export type Order =
  | { readonly kind: "measure"; readonly files: readonly string[]; readonly source: readonly string[] }
  | {
      readonly kind: "try";
      readonly mutant: Mutant;
      readonly tests: readonly (readonly [string, string[]])[];
    };

/** The reply to an order. */
export type Reply =
  | { readonly kind: "measured"; readonly tests: readonly MeasuredTest[]; readonly failed: readonly string[] }
  | { readonly kind: "tried"; readonly killer: string | null };

/*
 * Runs in a process of its own, which its parent ends where a mutant never returns. One instance of vitest serves all
 * orders, so that each file is compiled once; a mutant is put in as its file is loaded.
 */

const current: { mutant: Mutant | null; instrumented: ReadonlySet<string>; failed: string[] } = {
  mutant: null,
  instrumented: new Set(),
  failed: [],
};

/** Notes what fails, because vitest returns the state of files that it has not run again as well. */
const noting: Reporter = {
  onTestCaseResult(test) {
    if (test.result().state === "failed")
      current.failed.push(`${relative(root, test.module.moduleId)}: ${test.fullName}`);
  },
  onTestModuleEnd(module) {
    if (module.errors().length > 0) current.failed.push(relative(root, module.moduleId));
  },
};

const planting = {
  name: "reeve-mutant",
  enforce: "pre",
  transform(code: string, id: string): string | undefined {
    const file = relative(root, id.split("?", 1)[0] ?? id);
    if (file === current.mutant?.file) return apply(readFileSync(join(root, file), "utf8"), current.mutant);
    return current.instrumented.has(file) ? instrument(file, code) : undefined;
  },
} as const;

/** Runs the files in the order in which they were asked for. */
class InOrder {
  sort(files: TestSpecification[]): TestSpecification[] {
    return files;
  }
  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }
}

const open = ({
  setupFiles,
  bail,
  isolate,
  testTimeout,
}: Required<Pick<InlineConfig, "setupFiles" | "bail" | "isolate" | "testTimeout">>): Promise<Vitest> =>
  createVitest(
    "test",
    {
      watch: false,
      root,
      reporters: [noting],
      // It would return code compiled with another mutant.
      fsModuleCache: false,
      setupFiles,
      bail,
      pool: "threads",
      maxWorkers: 1,
      isolate,
      testTimeout,
      sequence: { sequencer: InOrder },
    },
    { plugins: [planting] },
  );

let vitest: Vitest | null = null;

async function measure({ files, source }: Extract<Order, { kind: "measure" }>): Promise<Reply> {
  current.instrumented = new Set(source);
  const measuring = await open({
    setupFiles: [join(import.meta.dirname, "recorder.ts")],
    bail: 0,
    isolate: true,
    testTimeout: 120_000,
  });
  const project = measuring.getRootProject();
  const { testModules } = await measuring.runTestSpecifications(
    files.map((file) => project.createSpecification(join(root, file))),
  );
  const tests = testModules.flatMap((module) =>
    [...module.children.allTests()].map((test) => ({ module, test })),
  );
  const measured = tests.map(({ module, test }): MeasuredTest => {
    const { entered } = Json.as<Pick<MeasuredTest, "entered">>(Json.of(test.meta()));
    const ms = test.diagnostic()?.duration ?? 0;
    return { id: test.id, file: relative(root, module.moduleId), name: test.fullName, ms, entered };
  });
  await measuring.close();
  return { kind: "measured", tests: measured, failed: current.failed };
}

async function attempt({ mutant, tests }: Extract<Order, { kind: "try" }>): Promise<Reply> {
  // Consecutive files share loaded modules; the next mutant shares nothing with this one.
  vitest ??= await open({ setupFiles: [], bail: 1, isolate: false, testTimeout: 15_000 });
  const previous = current.mutant;
  current.mutant = mutant;
  for (const file of new Set([previous?.file, mutant.file]))
    if (file) vitest.invalidateFile(join(root, file));
  const project = vitest.getRootProject();
  current.failed = [];
  const { unhandledErrors } = await vitest.runTestSpecifications(
    tests.map(([file, testIds]) => project.createSpecification(join(root, file), { testIds })),
  );
  const [failed] = current.failed;
  return { kind: "tried", killer: failed ?? (unhandledErrors.length > 0 ? "an unhandled error" : null) };
}

process.on("message", (order: Order) => {
  void (order.kind === "measure" ? measure(order) : attempt(order)).then((reply) => process.send?.(reply));
});
process.once("disconnect", () => process.exit());
