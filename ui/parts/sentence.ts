/** Returns a text with a full stop at its end, unless it has an end mark or is empty. */
export const sentence = (text: string): string => (text === "" || /[.!?…:]$/u.test(text) ? text : `${text}.`);
