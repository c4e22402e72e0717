import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("the guide lists every type of event, with fields that the type has", () => {
  const [, rest = ""] = readFileSync("src/kernel/event.ts", "utf8").split(
    "export interface EventPayloads {\n",
  );
  const payloads = new Map(
    rest
      .split("\n}\n", 1)
      .join("")
      .split(/^(?= {2}readonly ["\w])/m)
      .map((text) => [/^ {2}readonly "?([\w.-]+)"?:/m.exec(text)?.[1] ?? "", text] as const)
      .filter(([name]) => name !== ""),
  );
  const limitMet = ["dimension", "account", "limit"];
  const rows = readFileSync("docs/guide/events.md", "utf8").matchAll(/^\| `([\w.-]+)` .*\|(.*)\|$/gm);
  const listed = [...rows].map(([, name = "", fields = ""]) => ({
    name,
    fields: [...fields.matchAll(/`(\w+)`/g)].map(([, field = ""]) => field),
  }));
  expect(listed.map(({ name }) => name).toSorted()).toEqual([...payloads.keys()].toSorted());
  for (const { name, fields } of listed) {
    const text = payloads.get(name) ?? "";
    const known = text.includes("LimitMet") ? limitMet : [];
    expect
      .soft(
        fields.filter((field) => !known.includes(field) && !text.includes(`readonly ${field}`)),
        name,
      )
      .toEqual([]);
  }
});
