export { Client, type ChatOptions, type ChatRequest, type ExportLine, type StreamEventsOptions } from "./client.js";
export type { ConnectionOptions } from "./connection.js";
export * from "./errors.js";
export type * from "./types.js";
