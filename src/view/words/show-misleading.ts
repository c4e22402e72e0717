import { codeOf, describeLookAlike } from "./look-alike.ts";

const names: Readonly<Record<number, string>> = {
  0x00_a0: "no-break space",
  0x00_ad: "soft hyphen",
  0x20_0b: "zero-width space",
  0x20_0c: "zero-width non-joiner",
  0x20_0d: "zero-width joiner",
  0x20_0e: "left-to-right mark",
  0x20_0f: "right-to-left mark",
  0x20_28: "line separator",
  0x20_29: "paragraph separator",
  0x20_2a: "left-to-right embedding",
  0x20_2b: "right-to-left embedding",
  0x20_2c: "end of direction",
  0x20_2d: "left-to-right override",
  0x20_2e: "right-to-left override",
  0x20_60: "word joiner",
  0x20_66: "left-to-right isolate",
  0x20_67: "right-to-left isolate",
  0x20_68: "first-strong isolate",
  0x20_69: "end of isolate",
  0x28_00: "blank pattern",
  0xfe_ff: "byte order mark",
};

/** Characters that are invisible, combining, similar to a plain space, or change how other characters are shown. */
const invisible =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/**
 * Returns text that shows what would mislead its reader: characters that a terminal would not show are named, and so is a
 * letter of another alphabet in a Latin word.
 */
export function showMisleading(text: string): string {
  const shown = text.replaceAll(invisible, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨${codeOf(character)} ${names[code] ?? kindOf(code)}⟩`;
  });
  return shown.replaceAll(/[^ \n\t]+/g, (word) => {
    const found = describeLookAlike(word);
    return found === null ? word : `${word}⟨${found}⟩`;
  });
}

/** A tag carries a letter that no screen shows. */
function kindOf(code: number): string {
  if (code > 0xe_00_20 && code < 0xe_00_7f) return `tag ${String.fromCodePoint(code - 0xe_00_00)}`;
  return code < 0xa0 ? "control" : "invisible";
}
