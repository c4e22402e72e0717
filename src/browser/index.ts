export { browser, type AgentBrowser, type BrowserOptions } from "./browser.ts";
