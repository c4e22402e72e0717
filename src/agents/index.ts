export { cancellationToken } from "./cancellation-token.ts";
export { RetryPolicy } from "./retry-policy.ts";
