export {
  createAddressPolicy,
  type AddressPolicy,
  type AddressPolicyOptions,
  type CheckedTarget,
  type ResolveHost,
} from "./address-policy.ts";
export {
  createCheckedFetch,
  type CheckedFetch,
  type CheckedFetchOptions,
  type TransferLimits,
} from "./checked-fetch.ts";
export { AddressRefusedError, FetchLimitError, type AddressRefusal, type FetchLimit } from "./net-errors.ts";
