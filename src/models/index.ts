export { inputBound } from "./input-bound.ts";
