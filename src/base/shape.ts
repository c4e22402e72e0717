/*
 * Shapes of JSON values from storage. A shape only checks: a valid value is used unchanged, and an invalid one is not
 * used at all.
 *
 * 1. An object is closed: a field that its type does not have is a problem, with any value.
 * 2. A problem names positions by field names of the type, never by content.
 */

/** A check of a value. */
interface Look {
  /**
   * Returns the position and kind of the first problem, such as `.turns is not an integer >= 0`. Null: the value has the shape.
   */
  readonly find: (value: unknown) => string | null;
  /** The checks of the fields of an object. */
  readonly fields?: ReadonlyMap<string, Look>;
  /** Whether further fields are a problem. */
  readonly isClosed?: boolean;
  /** Set for a field that may be absent. */
  readonly isOptional?: true;
}

/** A shape of JSON values of the type `T`. */
export interface Shape<T> extends Look {
  /** Invariant: a shape that lacks a case of the type, or has one too many, does not compile. */
  readonly type?: (value: T) => T;
}

/** A shape of a field that may be absent. */
type OptionalShape<T> = Shape<T> & { readonly isOptional: true };

/** A shape for each field of a type. */
export type FieldShapes<T> = {
  readonly [Key in keyof T]-?: Partial<Pick<T, Key>> extends Pick<T, Key>
    ? OptionalShape<Exclude<T[Key], undefined>>
    : Shape<T[Key]>;
};

const shapeOf = <T>(kind: string, is: (value: unknown) => boolean): Shape<T> => ({
  find: (value) => (is(value) ? null : ` is not ${kind}`),
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the shape of an object with these fields. `isClosed`: whether further fields are a problem. */
function objectShape<T>(fields: FieldShapes<T>, isClosed: boolean): Shape<T> {
  return shapeOfFields(new Map(Object.entries<Look>(fields)), isClosed);
}

function shapeOfFields<T>(shapes: ReadonlyMap<string, Look>, isClosed: boolean): Shape<T> {
  const required = [...shapes].flatMap(([name, shape]) => (shape.isOptional ? [] : [name]));
  const find = (value: unknown): string | null => {
    if (!isObject(value)) return " is not an object";
    for (const name of Object.keys(value)) {
      const field = value[name];
      if (field === undefined) continue;
      const shape = shapes.get(name);
      if (shape === undefined && isClosed) return " has an unknown field";
      const problem = shape?.find(field) ?? null;
      if (problem !== null) return `.${name}${problem}`;
    }
    const missing = required.find((name) => !Object.hasOwn(value, name) || value[name] === undefined);
    return missing === undefined ? null : `.${missing} is missing`;
  };
  return { find, fields: shapes, isClosed };
}

/** Returns the shape of an object without the fields that have a default. */
function compactShape({ find, fields, isClosed = true }: Look, defaults: object): Look {
  if (!fields) return { find };
  const shapes = [...fields].map(([name, shape]): [string, Look] => {
    const byDefault: unknown = Object.hasOwn(defaults, name) ? Reflect.get(defaults, name) : undefined;
    if (byDefault === undefined) return [name, shape];
    const inner = isObject(byDefault) ? compactShape(shape, byDefault) : shape;
    return [name, { find: inner.find, isOptional: true }];
  });
  return shapeOfFields(new Map(shapes), isClosed);
}

/** The members of a union whose tag may have this value. */
type Case<T, Tag extends keyof T, Name> = T extends unknown ? (Name extends T[Tag] ? T : never) : never;

/** Returns the shape of a text. */
const text = <T extends string = string>(): Shape<T> =>
  shapeOf("a text", (value) => typeof value === "string");

/** Constructors of shapes. */
export const Shape = {
  text,
  number: shapeOf<number>("a finite number", Number.isFinite),
  /** Integers from 0. */
  count: shapeOf<number>("an integer >= 0", (value) => Number.isSafeInteger(value) && Number(value) >= 0),
  boolean: shapeOf<boolean>("true or false", (value) => typeof value === "boolean"),
  true: shapeOf<true>("true", (value) => value === true),

  /** Returns the shape of a text that a reader of its type accepts. */
  textLike: <T extends string>(kind: string, is: (value: string) => boolean): Shape<T> =>
    shapeOf(kind, (value) => typeof value === "string" && is(value)),

  /** Returns the shape of anything, for content that is never read here. */
  any: <T>(): Shape<T> => ({ find: () => null }),

  /** Returns the shape of an object with any fields, for content that is never read here. */
  anyObject: <T extends object>(): Shape<T> => shapeOf("an object", isObject),

  /** Returns the shape of one of these texts. Every text of the type must be named. */
  oneOf: <const T extends readonly string[]>(...values: T): Shape<T[number]> =>
    shapeOf("a known value", (value) => values.some((known) => known === value)),

  orNull: <T>({ find }: Shape<T>): Shape<T | null> => ({
    find: (value) => (value === null ? null : find(value)),
  }),

  optional: <T>({ find }: Shape<T>): OptionalShape<T> => ({ find, isOptional: true }),

  list: <T>(item: Shape<T>): Shape<readonly T[]> => ({
    find: (value) => {
      if (!Array.isArray(value)) return " is not a list";
      for (const [index, each] of value.entries()) {
        const problem = item.find(each);
        if (problem !== null) return `[${index}]${problem}`;
      }
      return null;
    },
  }),

  /** Returns the shape of a list with a fixed length. */
  tuple: <T extends readonly unknown[]>(
    ...items: { readonly [Index in keyof T]: Shape<T[Index]> }
  ): Shape<T> => {
    const looks: readonly Look[] = items;
    return {
      find: (value) => {
        if (!Array.isArray(value) || value.length !== looks.length)
          return ` is not a list of ${looks.length}`;
        for (const [index, look] of looks.entries()) {
          const problem = look.find(value[index]);
          if (problem !== null) return `[${index}]${problem}`;
        }
        return null;
      },
    };
  },

  /** Returns the shape of an object with any names. The names may be content, so a problem does not include them. */
  map: <Key extends PropertyKey, T>(item: Shape<T>): Shape<Readonly<Record<Key, T>>> => ({
    find: (value) => {
      if (!isObject(value)) return " is not an object";
      for (const name of Object.keys(value)) {
        const problem = item.find(value[name]);
        if (problem !== null) return `[…]${problem}`;
      }
      return null;
    },
  }),

  /** Returns the shape of an object with exactly these fields. */
  object: <T>(fields: FieldShapes<T>): Shape<T> => objectShape(fields, true),

  /** Returns the shape of an object that a program created: unknown fields are ignored. */
  open: <T>(fields: FieldShapes<T>): Shape<T> => objectShape(fields, false),

  /**
   * Returns the shape of an object that is stored without the fields that have their default value, including nested
   * objects.
   */
  compact: (shape: Look, defaults: object): Shape<unknown> => compactShape(shape, defaults),

  /** Returns the shape of one of several objects, distinguished by the text of a field. */
  taggedUnion: <T, Tag extends keyof T & string>(
    tag: Tag,
    cases: { readonly [Name in T[Tag] & string]: Shape<Case<T, Tag, Name>> },
  ): Shape<T> => {
    const known = new Map(Object.entries<Look>(cases));
    return {
      find: (value) => {
        const name = isObject(value) ? value[tag] : undefined;
        const shape = typeof name === "string" ? known.get(name) : undefined;
        return shape ? shape.find(value) : `.${tag} is not a known value`;
      },
    };
  },
} as const;
