/** Maximum number of ways in which a pattern may match at one position. */
const mostWays = 4_096;
/** Maximum characters that one of these ways may cover. */
const mostCharacters = 1_000;

/**
 * Returns a pattern that takes linear time for any text: every repetition is bounded, also in lookarounds, and there
 * are no backreferences. @throws TypeError for any other.
 */
export function safeRegex(pattern: RegExp | string): RegExp {
  if (typeof pattern === "string") return new RegExp(pattern.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "iu");
  const { ways, characters, end } = alternatives(pattern.source, 0);
  if (end !== pattern.source.length) throw createUnsafeRegexError(pattern.source, "a bracket is not closed");
  if (ways > mostWays) throw createUnsafeRegexError(pattern.source, `${ways} ways to match at one position`);
  if (characters > mostCharacters)
    throw createUnsafeRegexError(pattern.source, `${characters} characters at one position`);
  return new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ""));
}

interface ParsedPattern {
  /** Number of ways in which it can match at one position. */
  readonly ways: number;
  /** Maximum number of characters that it can match. */
  readonly characters: number;
  readonly end: number;
}

function alternatives(source: string, from: number): ParsedPattern {
  let total = 0;
  let longest = 0;
  let at = from;
  for (;;) {
    const { ways, characters, end } = sequence(source, at);
    total += ways;
    longest = Math.max(longest, characters);
    if (source[end] !== "|") return { ways: total, characters: longest, end };
    at = end + 1;
  }
}

function sequence(source: string, from: number): ParsedPattern {
  let ways = 1;
  let characters = 0;
  let at = from;
  while (at < source.length && source[at] !== "|" && source[at] !== ")") {
    const atom = atomAt(source, at);
    const { least, most, end } = repetition(source, atom.end);
    let sum = 0;
    for (let times = least; times <= most && sum <= mostWays; times++) sum += atom.ways ** times;
    ways *= sum;
    characters += atom.characters * most;
    at = end;
  }
  return { ways, characters, end: at };
}

const one = { ways: 1, characters: 1 };

function atomAt(source: string, at: number): ParsedPattern {
  const character = source[at];
  if (character === "(") {
    const head = /^\((?:\?:|\?<?[=!])?(?!\?)/u.exec(source.slice(at))?.[0];
    if (head === undefined) throw createUnsafeRegexError(source, "it has a named group or changes flags");
    const inner = alternatives(source, at + head.length);
    return { ...inner, end: inner.end + 1 };
  }
  if (character === "[") {
    const end = /^\[(?:\\.|[^\]\\])*\]/u.exec(source.slice(at))?.[0].length;
    if (end === undefined) throw createUnsafeRegexError(source, "a class is not closed");
    return { ...one, end: at + end };
  }
  if (character !== "\\") return { ...one, end: at + 1 };
  if (/[1-9k]/u.test(source[at + 1] ?? "")) throw createUnsafeRegexError(source, "it has a backreference");
  const braced = /^\\[pPu]\{[^}]*\}/u.exec(source.slice(at))?.[0].length ?? 2;
  return { ...one, end: at + braced };
}

function repetition(
  source: string,
  at: number,
): { readonly least: number; readonly most: number; readonly end: number } {
  const lazy = (end: number): number => (source[end] === "?" ? end + 1 : end);
  if (source[at] === "?") return { least: 0, most: 1, end: lazy(at + 1) };
  if (source[at] === "*" || source[at] === "+")
    throw createUnsafeRegexError(source, "a repetition without an upper bound");
  const counted = /^\{(\d+)(?:(,)(\d*))?\}/u.exec(source.slice(at));
  if (!counted) return { least: 1, most: 1, end: at };
  const [whole, least, comma, most] = counted;
  if (comma === "," && most === "")
    throw createUnsafeRegexError(source, "a repetition without an upper bound");
  return { least: Number(least), most: Number(most || least), end: lazy(at + whole.length) };
}

const createUnsafeRegexError = (source: string, why: string): TypeError =>
  new TypeError(`/${source}/ may take too long: ${why}; bound it, as in \\w{1,64}`);
