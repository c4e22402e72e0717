/** The tool names that every provider accepts. */
const accepted = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/** Whether every provider accepts a tool of this name. */
export const isToolName = (name: string): boolean => accepted.test(name);

/** The rule of {@link isToolName}, for error messages. */
export const toolNameRule = "use at most 64 letters, digits, _ and -, starting with a letter or _";
