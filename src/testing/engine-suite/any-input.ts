/** A schema that lets every input pass. */
export const anyInput = {
  "~standard": { version: 1, vendor: "reeve", validate: (value: unknown) => ({ value }) },
} as const;
