export { local, type LocalOptions } from "./local.ts";
