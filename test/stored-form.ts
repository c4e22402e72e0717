import { delegateObject, type ObjectDefinition, type ObjectMethod } from "#kernel";

/** Makes an object store its values in serialized form, on an engine that would keep them unchanged. */
export function storedForm(definition: ObjectDefinition): ObjectDefinition {
  const { methods, queries } = definition;
  return { ...definition, methods: withStoredForm(methods), queries: withStoredForm(queries) };
}

function withStoredForm(methods: ObjectDefinition["methods"]): ObjectDefinition["methods"] {
  const entries = Object.entries(methods).map(([name, method]): readonly [string, ObjectMethod] => [
    name,
    (object, argument) => method(delegateObject(object, { keepsReferences: false }), argument),
  ]);
  return Object.fromEntries(entries);
}
