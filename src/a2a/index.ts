export { a2aServer, type A2aServerOptions } from "./a2a-server.ts";
