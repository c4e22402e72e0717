import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { HttpError } from "../http-error.ts";

/** Returns a caller's own identity and rights. */
function toMe({ principal, host }: Call): object {
  const { id, tenant, user = null, scopes, limits = null, expiresAt = null } = principal;
  const { version, page, dev } = host;
  return {
    id,
    tenant,
    user,
    scopes,
    limits,
    expiresAt,
    version,
    page,
    dev: dev && { example: dev.example },
  };
}

export const sessionCookieRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/me",
    scope: null,
    forUsers: true,
    summary: "The rights and limits of the key, and when it expires",
    handle: async (call) => toJsonResponse(toMe(call)),
  }),
  route({
    method: "post",
    path: "/session",
    scope: null,
    forUsers: true,
    pool: "reads",
    summary: "Exchange the key for a session cookie",
    handle: async (call) => {
      const { host, principal, header } = call;
      if (!host.needsKey) return toJsonResponse(toMe(call));
      if (header("authorization") === undefined)
        throw new HttpError(
          "unauthorized",
          "a session must be opened with an API key, not with another session",
        );
      const opened = toJsonResponse(toMe(call));
      opened.headers.set("set-cookie", host.sessions.open(principal, header("host") ?? ""));
      return opened;
    },
  }),
  route({
    method: "delete",
    path: "/session",
    scope: null,
    forUsers: true,
    summary: "End the session of the cookie",
    handle: async ({ host, header }) => {
      const closed = toJsonResponse({});
      closed.headers.set("set-cookie", host.sessions.close(header("cookie") ?? null, header("host") ?? ""));
      return closed;
    },
  }),
];
