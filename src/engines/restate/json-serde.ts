import type { Serde } from "@restatedev/restate-sdk";
import { Json } from "#kernel";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Everything that Restate keeps for us passes here. Nothing and `null` are the same. */
export const jsonSerde: Serde<Json> = {
  contentType: "application/json",
  serialize: (value: Json | undefined) => encoder.encode(JSON.stringify(value ?? null)),
  deserialize: (bytes) => (bytes.length === 0 ? null : Json.of(JSON.parse(decoder.decode(bytes)))),
};
