import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { listenForPairs } from "./parts/use-keys.ts";

const root = document.querySelector("#root");
if (!root) throw new Error("the page has no root");
listenForPairs();
createRoot(root).render(<App />);
