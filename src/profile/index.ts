export { profile, type ProfileOptions } from "./profile.ts";
