import type { Input } from "#kernel";
import { type Shape, shape } from "./shape.ts";

/** Labels that a caller adds to its input. Absent or false adds nothing: no caller can remove a label. */
export const labels = shape.object({
  untrusted: shape.optional(shape.flag()),
  private: shape.optional(shape.flag()),
});

const maxTextCharacters = 1_000_000;
/** More than any body may have: the limit of the body and the limits of the runtime hold. */
const maxDataCharacters = 128_000_000;

const file = shape.object({
  mediaType: shape.text({ max: 127 }),
  name: shape.optional(shape.text({ max: 255 })),
  /** Base64. */
  data: shape.text({ max: maxDataCharacters }),
});

/** The fields of content: at least one of them. */
export const contentFields = {
  text: shape.optional(shape.text({ max: maxTextCharacters })),
  data: shape.optional(shape.json()),
  files: shape.optional(shape.list(file)),
} as const;

const text = shape.text({ max: maxTextCharacters });
const content = shape.object(contentFields);

/** A text, or content. */
export const input: Shape<Input> = {
  schema: { anyOf: [text.schema, content.schema] },
  decode: (value, at) => (typeof value === "string" ? text.decode(value, at) : content.decode(value, at)),
};
