import type { Json, JsonObject } from "#kernel";
import type { Route } from "./route.ts";
import { userHeader } from "./users.ts";

const errorSchema: JsonObject = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: { code: { type: "string" }, message: { type: "string" } },
    },
  },
};

const inHeader: JsonObject = {
  name: userHeader,
  in: "header",
  description:
    "The user that a trusted backend acts for: the request is handled like one with a key bound to this user. Requires the scope act-for-users",
  schema: { type: "string", minLength: 1, maxLength: 128 },
};

/** The OpenAPI document of the routes that are really there. */
export function openApi(routes: readonly Route[]): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    (paths[path] ??= {})[route.method] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Reeve", version: "1" },
    security: [{ key: [] }],
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      schemas: { Error: errorSchema },
    },
    paths,
  };
}

function operationOf({ method, path, scope, forUsers, summary, answers, query, body }: Route): JsonObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const inPath = names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  const inQuery = Object.entries(query.fields).map(([name, { schema }]) => ({ name, in: "query", schema }));
  const media = answers ?? "application/json";
  return {
    operationId: `${method}${path.replaceAll(/[/:-]{1,3}(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    ...(scope !== null && { "x-scope": scope }),
    parameters: [...inPath, ...inQuery, ...(forUsers ? [inHeader] : [])],
    ...(body && { requestBody: { content: { "application/json": { schema: body.schema } } } }),
    responses: {
      "2XX": { description: "done", content: { [media]: {} } },
      default: {
        description: "refused",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}
