export type { Pins } from "./load-files.ts";
export { profile, type ProfileOptions } from "./profile.ts";
