import { delegateEngine, type Engine, type ExecutionPrimitives } from "#kernel";

/** The same engine; `onRun` is told when it begins to execute a run, anew or again. */
export function watchingRuns(engine: Engine, onRun: (primitives: ExecutionPrimitives) => void): Engine {
  return delegateEngine(engine, {
    define: (program) =>
      engine.define({
        ...program,
        run: (primitives) => {
          onRun(primitives);
          return program.run(primitives);
        },
      }),
  });
}
