// Compiled, never run: what the types let a program write, and what they refuse.
import { Client, MemstoneError, NotFoundError, type MemoryItem, type SearchResults } from "../dist/index.js";

export async function usage(memory: Client): Promise<string> {
  const added = await memory.add([{ role: "user", content: "I row" }], { user_id: "alice", infer: false });
  const id: string = added.results[0]?.id ?? "";
  const found: SearchResults = await memory.search("rowing", { user_id: "alice", strategy: "hybrid", limit: 3 });
  const item: MemoryItem | null = await memory.get(id);
  await memory.sessions.flush({ user_id: "alice" });
  await memory.admin.keys.create("reader", { verbs: ["read"] });
  for await (const event of memory.streamEvents({ user_id: "alice" })) return event.event;

  // @ts-expect-error a strategy is one of a few words
  await memory.search("rowing", { strategy: "magic" });
  // @ts-expect-error there is no such argument
  await memory.search("rowing", { userId: "alice" });
  // @ts-expect-error a query is text
  await memory.search(5);
  // @ts-expect-error a memory may be missing
  return item.memory + found.results.length;
}

export function isMissing(error: unknown): boolean {
  return error instanceof NotFoundError || (error instanceof MemstoneError && error.status === 404);
}
