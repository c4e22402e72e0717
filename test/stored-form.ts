import { delegateObject, type ObjectDefinition, type ObjectMethod } from "#kernel";

/** Lets an object store its values in the form that leaves the process, on an engine that would keep them as they are. */
export function storedForm(definition: ObjectDefinition): ObjectDefinition {
  const stored = (methods: ObjectDefinition["methods"]): ObjectDefinition["methods"] =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]): readonly [string, ObjectMethod] => [
        name,
        (object, argument) => method(delegateObject(object, { keepsReferences: false }), argument),
      ]),
    );
  return { ...definition, methods: stored(definition.methods), queries: stored(definition.queries) };
}
