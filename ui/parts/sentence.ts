/**
 * Returns a text with a full stop at its end, unless it has an end mark or is empty. An article at its beginning gets a
 * capital letter. Other first words may be names, which stay as they are.
 */
export function sentence(text: string): string {
  const begun = text.replace(/^(?:the|this|a|an) /u, (word) => word.charAt(0).toUpperCase() + word.slice(1));
  return begun === "" || /[.!?…:]$/u.test(begun) ? begun : `${begun}.`;
}
