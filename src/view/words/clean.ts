const ascii = /^[\x20-\x7e]*$/;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const control = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069]+/g;

/** Returns one line that is safe for a terminal: text of models and tools must not move the cursor or set colours. */
export function clean(text: string): string {
  return ascii.test(text) ? text : text.replaceAll(control, " ").trim();
}

/** Does the same for text of several lines, which keep their order. */
export function cleanLines(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => line.replaceAll("\t", "  ").replaceAll(control, " "));
}
