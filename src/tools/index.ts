export { files, type FilesOptions, type FileTools } from "./files/files.ts";
