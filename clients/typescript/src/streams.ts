/** One event of a stream of server-sent events. */
export interface ServerEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Yield the lines of a response as they come, without their ends. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    yield* lines;
  }
  rest += decoder.decode();
  if (rest) yield rest.replace(/\r$/, "");
}

/** Yield the server-sent events of a response; comments and what is cut off at the end are left out. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  let data: string[] = [];
  let event = "message";
  let id: string | undefined;
  for await (const line of linesOf(response)) {
    if (line === "") {
      if (data.length) yield { id, event, data: data.join("\n") };
      data = [];
      event = "message";
      continue;
    }
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id") id = value;
  }
}
