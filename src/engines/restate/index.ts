export { type RestateOptions, restate } from "./restate.ts";
export { type RestateServer, type RestateServerOptions, restateServer } from "./restate-server.ts";
