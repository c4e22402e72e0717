export { defaultKeys } from "./default-keys.ts";
export { environmentKeys } from "./environment-keys.ts";
export { keyFile } from "./key-file.ts";
export { AesSeal } from "./seal.ts";
export { sealedStore } from "./sealed-store.ts";
export { storedKeys } from "./stored-keys.ts";
export { Seals } from "./seals.ts";
