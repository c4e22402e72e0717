/** Characters of a path. */
const maxLength = 1024;
/** Bytes of a name: the limit of every file system of Linux. */
const maxNameBytes = 255;
const maxDepth = 64;
/** Control characters, invisible format characters and lone surrogates: systems show or store them differently. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}]/u;
const percentEncoded = /%[0-9a-f]{2}/i;
const driveLetter = /^[a-z]:/i;

/**
 * Parses a path written by a model into names below the root. No names: the root itself. Only plain relative paths are
 * valid: a path that another program could read differently is refused, so nothing is decoded or normalised.
 * @throws Error with the problem of the path.
 */
export function parseRelativePath(path: string, { hidden }: { readonly hidden: boolean }): readonly string[] {
  const refuse = (why: string): never => {
    throw new Error(`path ${JSON.stringify(path.slice(0, 100))} ${why}`);
  };
  if (path.length > maxLength) refuse(`has ${path.length} characters; at most ${maxLength} are allowed`);
  if (invisible.test(path)) refuse("has an invisible character");
  if (path.includes("\\")) refuse("has a backslash: separate names by /");
  if (path.startsWith("/") || driveLetter.test(path)) refuse("is absolute: name it from the root folder");
  if (percentEncoded.test(path)) refuse("is percent-encoded: write the characters themselves");
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.length > maxDepth) refuse(`has ${names.length} names; at most ${maxDepth} are allowed`);
  for (const name of names) {
    if (name === "..") refuse("has ..: it must stay inside the root folder");
    if (!hidden && name.startsWith("."))
      refuse("has a hidden name: files(root, { hidden: true }) would allow it");
    if (Buffer.byteLength(name) > maxNameBytes) refuse(`has a name of more than ${maxNameBytes} bytes`);
  }
  return names;
}
