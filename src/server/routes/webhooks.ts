import { NotFoundError, ReeveError, webhookEvents } from "#kernel";
import { errorMessage } from "#base";
import { checkWebhookId } from "#runtime";
import { whose } from "../auth.ts";
import { answer, type Call, type Route, route } from "../route.ts";
import { refuse, shape } from "../shape.ts";
import { page } from "./runs.ts";

const webhookId = shape.id(checkWebhookId, "a webhook");
const deliveryId = shape.optional(shape.text());

/** @throws RefusalError */
const idOf = ({ params }: Call): string => webhookId.decode(params["webhook"], "path");

/**
 * Refuses invalid settings with an explanation. @throws RefusalError, or the error itself if it is not about settings.
 */
function refuseSettings(error: unknown): never {
  if (ReeveError.is(error) && error.code === "address-refused") refuse("body.url", errorMessage(error));
  if (error instanceof TypeError || error instanceof RangeError) refuse("body", errorMessage(error));
  throw error;
}

/** Routes of webhooks, which receive events of the whole tenant. Callers that act for one user are refused. */
export const webhookRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/webhooks",
    scope: "admin",
    summary: "Webhooks, by id, without their secrets",
    handle: async ({ host, principal }) =>
      answer({ items: await host.runtime.webhooks.list(whose(principal)), next: null }),
  }),
  route({
    method: "get",
    path: "/webhooks/:webhook",
    scope: "admin",
    summary: "A webhook, with the numbers of its pending and dead deliveries",
    handle: async (call) => {
      const id = idOf(call);
      const found = await call.host.runtime.webhooks.get(id, whose(call.principal));
      if (!found) throw new NotFoundError({ what: "webhook", id });
      return answer(found);
    },
  }),
  route({
    method: "put",
    path: "/webhooks/:webhook",
    scope: "admin",
    summary: "Set a webhook: sends events of the tenant to a URL. The secret of a new webhook is shown once",
    body: shape.object({
      url: shape.text({ max: 2_048 }),
      events: shape.optional(shape.list(shape.oneOf(webhookEvents))),
      allRuns: shape.optional(shape.flag()),
      secret: shape.optional(shape.text()),
    }),
    handle: async (call) => {
      const options = { ...call.body, id: idOf(call), ...whose(call.principal) };
      return answer(await call.host.runtime.webhooks.set(options).catch(refuseSettings));
    },
  }),
  route({
    method: "delete",
    path: "/webhooks/:webhook",
    scope: "admin",
    summary: "Remove a webhook and its pending deliveries",
    handle: async (call) => {
      const id = idOf(call);
      if (!(await call.host.runtime.webhooks.remove(id, whose(call.principal))))
        throw new NotFoundError({ what: "webhook", id });
      return answer({});
    },
  }),
  route({
    method: "post",
    path: "/webhooks/:webhook/rotate-secret",
    scope: "admin",
    summary: "Rotate the secret of a webhook; the new one is shown once, the old one still signs for a while",
    body: shape.object({
      keepOldS: shape.optional(shape.whole({ max: 31_536_000 })),
      secret: shape.optional(shape.text()),
    }),
    handle: async (call) => {
      const options = { ...call.body, ...whose(call.principal) };
      return answer(await call.host.runtime.webhooks.rotateSecret(idOf(call), options).catch(refuseSettings));
    },
  }),
  route({
    method: "get",
    path: "/webhooks/:webhook/deliveries",
    scope: "admin",
    summary: "Pending and dead deliveries of a webhook, newest first",
    query: shape.object({ ...page, status: shape.optional(shape.oneOf(["pending", "dead"])) }),
    handle: async (call) =>
      answer(
        await call.host.runtime.webhooks.deliveries(idOf(call), { ...call.query, ...whose(call.principal) }),
      ),
  }),
  route({
    method: "post",
    path: "/webhooks/:webhook/redeliver",
    scope: "admin",
    summary: "Send dead deliveries again: one, or all of the webhook",
    body: shape.object({ delivery: deliveryId }),
    handle: async (call) => {
      const options = { ...call.body, ...whose(call.principal) };
      return answer({ count: await call.host.runtime.webhooks.redeliver(idOf(call), options) });
    },
  }),
];
