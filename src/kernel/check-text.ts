/** Control characters. A database may refuse them, and a terminal obeys them. */
const controls = /\p{Cc}/gu;

/** Whether a text is one line without control characters. */
export const isLine = (text: string): boolean => text.search(controls) === -1;

/** Returns a text without control characters: each is replaced. For names that a model or another program chose. */
export const toLine = (text: string): string => text.replaceAll(controls, "\u{FFFD}");
