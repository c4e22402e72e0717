export { type RunView } from "./tree/run-view.ts";
