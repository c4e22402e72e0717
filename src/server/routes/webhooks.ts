import { NotFoundError, ReeveError, webhookEvents } from "#kernel";
import { errorMessage } from "#base";
import { checkWebhookId } from "#runtime";
import { whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { refuseRequest, shape } from "../shape.ts";
import { page } from "./runs.ts";

const webhookId = shape.id(checkWebhookId, "a webhook");
const deliveryId = shape.optional(shape.line());

/** @throws HttpError */
const readWebhookId = ({ params }: Call): string => webhookId.decode(params["webhook"], "path");

/**
 * Refuses invalid settings with an explanation. @throws HttpError, or the error itself if it is not about settings.
 */
function refuseSettings(error: unknown): never {
  if (ReeveError.is(error) && error.code === "address-refused")
    refuseRequest("body.url", errorMessage(error));
  if (error instanceof TypeError || error instanceof RangeError) refuseRequest("body", errorMessage(error));
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
      toJsonResponse({ items: await host.runtime.webhooks.list(whose(principal)), next: null }),
  }),
  route({
    method: "get",
    path: "/webhooks/:webhook",
    scope: "admin",
    summary: "A webhook, with the numbers of its pending and dead deliveries",
    handle: async (call) => {
      const id = readWebhookId(call);
      const found = await call.host.runtime.webhooks.get(id, whose(call.principal));
      if (!found) throw new NotFoundError({ what: "webhook", id });
      return toJsonResponse(found);
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
      const options = { ...call.body, id: readWebhookId(call), ...whose(call.principal) };
      return toJsonResponse(await call.host.runtime.webhooks.set(options).catch(refuseSettings));
    },
  }),
  route({
    method: "delete",
    path: "/webhooks/:webhook",
    scope: "admin",
    summary: "Remove a webhook and its pending deliveries",
    handle: async (call) => {
      const id = readWebhookId(call);
      if (!(await call.host.runtime.webhooks.remove(id, whose(call.principal))))
        throw new NotFoundError({ what: "webhook", id });
      return toJsonResponse({});
    },
  }),
  route({
    method: "post",
    path: "/webhooks/:webhook/rotate-secret",
    scope: "admin",
    summary: "Rotate the secret of a webhook; the new one is shown once, the old one still signs for a while",
    body: shape.object({
      keepOldS: shape.optional(shape.integer({ max: 31_536_000 })),
      secret: shape.optional(shape.text()),
    }),
    handle: async (call) => {
      const options = { ...call.body, ...whose(call.principal) };
      return toJsonResponse(
        await call.host.runtime.webhooks.rotateSecret(readWebhookId(call), options).catch(refuseSettings),
      );
    },
  }),
  route({
    method: "get",
    path: "/webhooks/:webhook/deliveries",
    scope: "admin",
    summary: "Pending and dead deliveries of a webhook, newest first",
    query: shape.object({ ...page, status: shape.optional(shape.oneOf(["pending", "dead"])) }),
    handle: async (call) =>
      toJsonResponse(
        await call.host.runtime.webhooks.deliveries(readWebhookId(call), {
          ...call.query,
          ...whose(call.principal),
        }),
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
      return toJsonResponse({
        count: await call.host.runtime.webhooks.redeliver(readWebhookId(call), options),
      });
    },
  }),
];
