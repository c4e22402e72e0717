const ascii = /^[\x20-\x7e]*$/;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const control = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069]+/g;

/** One line that a terminal shows as it is: words of models and tools must not move the cursor or turn colours. */
export function clean(text: string): string {
  return ascii.test(text) ? text : text.replaceAll(control, " ").trim();
}

/** The same for words on several lines, which keep their places. */
export function cleanLines(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => line.replaceAll("\t", "  ").replaceAll(control, " "));
}
