import { delegateEngine, type Engine, type ObjectMethod } from "#kernel";

/** Returns the same engine, which counts how often it calls each method and query of an object, as `tree/open`. */
export function countTries(engine: Engine, tries: Map<string, number>): Engine {
  const count = (
    type: string,
    methods: Readonly<Record<string, ObjectMethod>>,
  ): Record<string, ObjectMethod> => {
    const counted = Object.entries(methods).map(([name, method]): [string, ObjectMethod] => {
      const handler = `${type}/${name}`;
      return [
        name,
        (object, argument) => {
          tries.set(handler, (tries.get(handler) ?? 0) + 1);
          return method(object, argument);
        },
      ];
    });
    return Object.fromEntries(counted);
  };
  return delegateEngine(engine, {
    define: (program) =>
      engine.define({
        ...program,
        objects: program.objects.map((definition) => ({
          ...definition,
          methods: count(definition.type, definition.methods),
          queries: count(definition.type, definition.queries),
        })),
      }),
  });
}
