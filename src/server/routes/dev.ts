import { NotFoundError } from "#kernel";
import { faultKinds } from "../dev-tools.ts";
import { HttpError } from "../http-error.ts";
import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";

const loopbackName = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Checks that the request was sent to this machine, and by no page of another origin. @throws HttpError */
function checkOwnPage({ header }: Pick<Call, "header">): void {
  const host = header("host")?.toLowerCase() ?? "";
  if (!loopbackName.test(host))
    throw new HttpError("host-not-allowed", "faults can be caused only from this machine");
  const origin = header("origin");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
    throw new HttpError("wrong-origin", "pages of other origins are not allowed");
}

export const devRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/dev/faults",
    scope: "admin",
    pool: "reads",
    summary: "Cause a fault, to see how a tree recovers. Only `reeve dev` has this address",
    body: shape.object({ kind: shape.oneOf(faultKinds) }),
    handle: async (call) => {
      const { dev } = call.host;
      if (!dev) throw new NotFoundError({ what: "route", id: "POST /dev/faults" });
      checkOwnPage(call);
      dev.cause(call.body.kind);
      return toJsonResponse({}, 202);
    },
  }),
];
