import { NotFoundError } from "#kernel";
import { faultKinds } from "../dev-tools.ts";
import { RefusalError } from "../refusal.ts";
import { answer, type Call, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";

const loopbackName = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Checks that the request was sent to this machine, and by no page of another origin. @throws RefusalError */
function checkOwnPage({ header }: Pick<Call, "header">): void {
  const host = header("host")?.toLowerCase() ?? "";
  if (!loopbackName.test(host)) throw new RefusalError("wrong-host", "faults are for this machine alone");
  const origin = header("origin");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
    throw new RefusalError("wrong-origin", "pages of other origins may not ask here");
}

export const devRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/dev/faults",
    scope: "admin",
    room: "reads",
    summary: "Cause a fault, to see what becomes of a tree. Only `reeve dev` has this address",
    body: shape.object({ kind: shape.oneOf(faultKinds) }),
    handle: async (call) => {
      const { dev } = call.host;
      if (!dev) throw new NotFoundError({ what: "address", id: "like this" });
      checkOwnPage(call);
      dev.cause(call.body.kind);
      return answer({}, 202);
    },
  }),
];
