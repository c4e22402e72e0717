const ascii = /^[\x20-\x7e]*$/;
const control =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060\u2066-\u2069\uFEFF]+/g;

/**
 * Returns one line that is safe for a terminal: text of models and tools must not move the cursor or set colours, and a
 * character without a width must not hide between others. Joiners stay, because some scripts need them.
 */
export function clean(text: string): string {
  return ascii.test(text) ? text : text.replaceAll(control, " ").trim();
}

/** Does the same for text of several lines, which keep their order. */
export function cleanLines(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => line.replaceAll("\t", "  ").replaceAll(control, " "));
}
