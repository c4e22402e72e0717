import { resolve } from "node:path";
import {
  type Checker,
  isObjectType,
  isTupleType,
  NodeBuilderFlags,
  SignatureKind,
  type Symbol as ExportedSymbol,
  SymbolFlags,
  type Type,
} from "typescript/unstable/sync";
import { Program } from "./structure/program.ts";

/** One name that an entry of the package exports. */
export interface ExportedName {
  readonly name: string;
  /** The exported symbol: the same one from every entry. */
  readonly symbol: ExportedSymbol;
  /** The class, function or constant of this name, with its members or parameters. Null: only a type. */
  readonly value: string | null;
  /** The type of this name, with its members. Null: only a value. */
  readonly type: string | null;
}

/** Reads the names that source files export, as the compiler sees them. */
export function readExports(files: readonly string[]): ReadonlyMap<string, readonly ExportedName[]> {
  using source = new Program(".");
  const { program, checker } = source.project;
  const read = (path: string): readonly ExportedName[] => {
    const file = program.getSourceFile(resolve(path));
    const module = file && checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${path} is not a module of the package`);
    const names = checker.getExportsOfModule(module).map((symbol) => describe(checker, symbol));
    return names.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  };
  return new Map(files.map((path) => [path, read(path)]));
}

function describe(checker: Checker, exported: ExportedSymbol): ExportedName {
  const { name } = exported;
  const symbol = exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const isType = (symbol.flags & SymbolFlags.Type) !== 0;
  const type = isType ? describeType(checker, checker.getDeclaredTypeOfSymbol(symbol)) : null;
  if (symbol.flags & SymbolFlags.Class) return { name, symbol, value: `class ${name} ${type}`, type: null };
  const isValue = (symbol.flags & SymbolFlags.Value) !== 0;
  const value = isValue ? describeValue(checker, name, checker.getTypeOfSymbol(symbol)) : null;
  return { name, symbol, value, type: type && `type ${name} ${type}` };
}

function describeValue(checker: Checker, name: string, type: Type | undefined): string {
  if (!type) return `const ${name}`;
  const call = parametersOf(checker, type);
  if (call !== null) return `function ${name}${call}`;
  return `const ${name} ${isList(checker, type) ? checker.typeToString(type) : membersOf(checker, type)}`;
}

const expanded = NodeBuilderFlags.InTypeAlias | NodeBuilderFlags.NoTruncation;

/** The members of an object, the parameters of a function, or the text of any other type. */
function describeType(checker: Checker, type: Type): string {
  const call = parametersOf(checker, type);
  if (call !== null) return call;
  const hasMembers = isObjectType(type) && checker.getPropertiesOfType(type).length > 0;
  return hasMembers ? membersOf(checker, type) : `= ${checker.typeToString(type, undefined, expanded)}`;
}

function parametersOf(checker: Checker, type: Type): string | null {
  const [signature] = checker.getSignaturesOfType(type, SignatureKind.Call);
  return signature ? `(${signature.getParameters().map(nameOf).join(", ")})` : null;
}

/** Whether the members of a type are those of every list, which are not listed. */
const isList = (checker: Checker, type: Type): boolean => checker.isArrayType(type) || isTupleType(type);

/** The names of the members that a user sees: without private ones, and without the stack and cause that every error has. */
function membersOf(checker: Checker, type: Type): string {
  const hidden = /^(?:__.*|stack|cause)$/;
  const members = checker.getPropertiesOfType(type).filter(({ name }) => !hidden.test(name));
  return `{ ${members.map(nameOf).toSorted().join(", ")} }`;
}

/** A parameter that is taken apart has no name of its own. */
const nameOf = ({ name, flags }: ExportedSymbol): string =>
  `${name.replace(/^__\d+$/, "options")}${flags & SymbolFlags.Optional ? "?" : ""}`;
