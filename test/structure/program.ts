import { relative, resolve } from "node:path";
import type { Node, ParameterDeclaration, SourceFile } from "typescript/unstable/ast";
import {
  isArrowFunction,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isMethodDeclaration,
} from "typescript/unstable/ast/is";
import { API, type Project } from "typescript/unstable/sync";

/** A function of any form. */
export type FunctionNode = Node & {
  readonly name?: Node | undefined;
  readonly parameters: readonly ParameterDeclaration[];
  readonly body?: Node | undefined;
};

/** The program of a package, as its compiler sees it. */
export class Program implements Disposable {
  /** The source files by their paths inside `src`. */
  readonly files: ReadonlyMap<string, SourceFile>;
  readonly project: Project;
  readonly #api: API;
  readonly #source: string;

  constructor(root: string) {
    this.#source = resolve(root, "src");
    this.#api = new API({ cwd: root });
    const config = resolve(root, "tsconfig.build.json");
    const [project] = this.#api.updateSnapshot({ openProjects: [config] }).getProjects();
    if (!project) throw new Error(`${config} is not a project`);
    this.project = project;
    const files = new Map<string, SourceFile>();
    for (const name of project.rootFiles.toSorted()) {
      const file = project.program.getSourceFile(name);
      if (file && name.startsWith(this.#source)) files.set(relative(this.#source, name), file);
    }
    this.files = files;
  }

  /** Returns the path of a node's file inside `src`. Null if it is elsewhere. */
  pathOf(node: Node): string | null {
    const path = relative(this.#source, node.getSourceFile().fileName);
    return this.files.has(path) ? path : null;
  }

  /** Returns the paths of the files in a folder and its subfolders, without those in `except`. */
  in(folder: string, except: readonly string[] = []): readonly string[] {
    return [...this.files.keys()].filter(
      (path) => isIn(path, folder) && !except.some((place) => isIn(path, place)),
    );
  }

  [Symbol.dispose](): void {
    this.#api.close();
  }
}

function isIn(path: string, folder: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}

/** Visits a node and all nodes below it, in the order of the source. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** Whether a node is a function with a body, of any form. */
export function isFunction(node: Node): node is FunctionNode {
  return (
    (isFunctionDeclaration(node) ||
      isFunctionExpression(node) ||
      isArrowFunction(node) ||
      isMethodDeclaration(node) ||
      isConstructorDeclaration(node)) &&
    node.body !== undefined
  );
}
