import { delegateEngine, type Engine, type ExecutionPrimitives } from "#kernel";

/** Returns the same engine. `onRun` is called whenever it starts or resumes the execution of a run. */
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
