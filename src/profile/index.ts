export type { Pins } from "./pins.ts";
export { profile, type ProfileOptions } from "./profile.ts";
