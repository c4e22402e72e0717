import type { Engine, Primitives } from "#kernel";

/** The same engine; `onRun` is told when it begins to execute a run, anew or again. */
export function watchingRuns(engine: Engine, onRun: (primitives: Primitives) => void): Engine {
  return {
    name: engine.name,
    keysIn: (store) => engine.keysIn(store),
    define: (program) =>
      engine.define({
        ...program,
        run: (primitives) => {
          onRun(primitives);
          return program.run(primitives);
        },
      }),
    serve: (options) => engine.serve(options),
    drain: (options) => engine.drain(options),
    call: (to, method, argument) => engine.call(to, method, argument),
    changed: (object, signal, name) => engine.changed(object, signal, name),
    written: (...given) => engine.written(...given),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}
