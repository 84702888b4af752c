// Runs against a real service: MEMSTONE_URL and MEMSTONE_KEY say where it is and how to get in, MEMSTONE_MODEL which model
// its gateway knows. tests/clients/test_typescript.py starts one.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";

import * as memstone from "../dist/index.js";

const { MEMSTONE_URL: url, MEMSTONE_KEY: key, MEMSTONE_MODEL: model } = process.env;
assert.ok(url && key && model, "set MEMSTONE_URL, MEMSTONE_KEY and MEMSTONE_MODEL");
const memory = new memstone.Client(url, key);

/** A user whom nobody else knows. */
const someone = () => ({ user_id: `u-${randomUUID()}` });

async function collect(lines) {
  const found = [];
  for await (const line of lines) found.push(line);
  return found;
}

/** A service that answers as it is told: each answer is a function of the request. */
async function scripted(answers, run) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push({ at: Date.now(), method: request.method, url: request.url, headers: request.headers });
    (answers[seen.length - 1] ?? answers.at(-1))(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${server.address().port}`, seen);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const json = (status, body, headers = {}) => (_, response) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

test("a memory is added, read, found, changed and deleted", async () => {
  const alice = someone();
  const added = await memory.add("Alice rows every morning", { ...alice, infer: false, metadata: { topic: "sport" } });
  const id = added.results[0].id;
  assert.equal(added.results[0].event, "ADD");
  assert.equal((await memory.get(id)).memory, "Alice rows every morning");
  const hits = await memory.search("Who rows?", { ...alice, limit: 3 });
  assert.equal(hits.results[0].id, id);
  assert.ok(hits.results[0].score > 0);
  assert.equal((await memory.getAll({ ...alice, filters: { topic: "sport" } })).results.length, 1);
  assert.equal((await memory.update(id, "Alice sails", { metadata: { topic: "boats" } })).version, 2);
  assert.deepEqual((await memory.history(id)).map((event) => event.event), ["ADD", "UPDATE"]);
  assert.equal((await memory.delete(id, { dry_run: true })).event, "DELETE");
  assert.ok(await memory.get(id));
  await memory.delete(id);
  assert.equal(await memory.get(id), null);
});

test("a batch is carried out once, though it is sent twice", async () => {
  const alice = someone();
  const items = ["one", "two"].map((text) => ({ messages: text, infer: false, ...alice }));
  const options = { idempotency_key: randomUUID() };
  const first = await memory.addMany(items, options);
  assert.deepEqual(await memory.addMany(items, options), { ...first, replayed: true });
  assert.equal((await memory.getAll(alice)).results.length, 2);
  await memory.deleteMany(first.results.flatMap((one) => one.results.map((result) => result.id)));
  assert.equal((await memory.getAll(alice)).results.length, 0);
});

test("what is learned is shown for a message", async () => {
  const alice = someone();
  await memory.add("I am allergic to peanuts", alice);
  const block = await memory.context("Which snacks can I eat with my allergy?", alice);
  assert.match(block.text, /peanuts/);
  assert.ok((await memory.receipt(block.receipt_id)).id);
  assert.equal(await memory.receipt(randomUUID()), null);
  assert.ok(Array.isArray((await memory.profile.get(alice)).lines ?? []));
});

test("groups have the names of the Python library", async () => {
  const alice = someone();
  await memory.identity.addOverride("Call me Al", alice);
  assert.equal((await memory.identity.get(alice)).overrides.length, 1);
  await memory.settings.set({ timezone: "Europe/Oslo" }, alice);
  assert.ok(JSON.stringify(await memory.settings.get(alice)).includes("Europe/Oslo"));
  const made = await memory.admin.keys.create("reader", { verbs: ["read"] });
  const reader = new memstone.Client(url, made.key);
  await assert.rejects(reader.add("x", alice), memstone.Forbidden);
  await memory.admin.keys.revoke(made.id);
  await assert.rejects(reader.getAll(alice), memstone.Unauthenticated);
  assert.ok(Array.isArray(await memory.admin.keys.list()));
  assert.ok((await memory.stats()).memories >= 0);
});

test("an export is read line by line and put back", async () => {
  const alice = someone();
  const { results } = await memory.add("Alice rows", { ...alice, infer: false });
  const lines = await collect(memory.export(alice));
  assert.ok(lines.length > 1);
  const counts = await memory.load(lines);
  assert.ok(counts.already_there >= 1);
  assert.equal((await memory.get(results[0].id)).memory, "Alice rows");
});

test("errors have classes, codes, hints and a request id", async () => {
  const wrong = await memory.search("", someone()).catch((error) => error);
  assert.ok(wrong instanceof memstone.InvalidInput);
  assert.ok(wrong instanceof memstone.UsageError);
  assert.ok(wrong instanceof memstone.MemstoneError);
  assert.equal(wrong.name, "InvalidInput");
  assert.ok(wrong.code && wrong.requestId && wrong.status >= 400);
  const missing = await memory.delete(randomUUID()).catch((error) => error);
  assert.ok(missing instanceof memstone.NotFoundError);
  assert.ok(missing.hint);
  await assert.rejects(new memstone.Client(url, "ms_wrong").stats(), memstone.Unauthenticated);
  assert.throws(() => new memstone.Client("ftp://x", "k"), memstone.ConfigError);
  assert.throws(() => new memstone.Client(url, "k\n"), memstone.ConfigError);
  await assert.rejects(new memstone.Client("http://127.0.0.1:9", "k", { maxRetries: 0 }).stats(), memstone.BackendUnavailable);
});

test("the feed streams what happens, from a cursor on, until it is stopped", async () => {
  const alice = someone();
  await memory.add("first", { ...alice, infer: false });
  const stop = new AbortController();
  const seen = [];
  for await (const event of memory.streamEvents({ ...alice, signal: stop.signal })) {
    seen.push(event);
    if (seen.length === 1) await memory.add("second", { ...alice, infer: false });
    if (seen.length === 2) stop.abort();
  }
  assert.deepEqual(seen.map((event) => event.new_value), ["first", "second"]);
  const later = [];
  const end = new AbortController();
  for await (const event of memory.streamEvents({ ...alice, after: seen[0].seq, signal: end.signal })) {
    later.push(event);
    end.abort();
  }
  assert.equal(later[0].seq, seen[1].seq);
});

test("a stream that breaks off continues where it stopped", async () => {
  const event = (seq) => `id: ${seq}\nevent: ADD\ndata: {"seq": ${seq}}\n\n`;
  const part = (text) => (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(text);
  };
  await scripted([part(`retry: 1000\n\n${event(7)}`), part(`: ping\n\n${event(8)}id: 9\ndata: {"cut`)], async (base, requests) => {
    const stop = new AbortController();
    const seen = [];
    for await (const one of new memstone.Client(base, "k").streamEvents({ signal: stop.signal })) {
      seen.push(one.seq);
      if (seen.length === 2) stop.abort();
    }
    assert.deepEqual(seen, [7, 8]);
    assert.match(requests[1].url, /after=7/);
  });
});

test("a chat goes through the gateway, at once and as a stream", async () => {
  const request = { model, messages: [{ role: "user", content: "Hello there" }] };
  const answer = await memory.chat(request);
  assert.equal(answer.choices[0].message.content, "Noted.");
  const chunks = await collect(memory.streamChat(request));
  const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join("");
  assert.equal(text.trim(), "Noted.");
});

test("a passing failure is tried again, after the time that the service asks for", async () => {
  const busy = json(503, { code: "storage_busy", detail: "busy", retryable: true }, { "retry-after": "1" });
  await scripted([busy, json(200, { results: [] })], async (base, requests) => {
    await new memstone.Client(base, "k").search("x", { user_id: "a" });
    assert.equal(requests.length, 2);
    assert.ok(requests[1].at - requests[0].at >= 900);
    assert.equal(requests[0].headers.authorization, "Bearer k");
  });
});

test("what is not safe to repeat is sent once, and the number of tries is limited", async () => {
  const broken = json(504, { code: "backend_timeout", detail: "late", retryable: true });
  await scripted([broken], async (base, requests) => {
    await assert.rejects(new memstone.Client(base, "k").add("x", { user_id: "a" }), memstone.BackendTimeout);
    assert.equal(requests.length, 1);
  });
  await scripted([json(429, { code: "too_many_requests", detail: "slow down", retryable: true })], async (base, requests) => {
    const error = await new memstone.Client(base, "k", { maxRetries: 1 }).add("x", { user_id: "a" }).catch((one) => one);
    assert.ok(error instanceof memstone.TooManyRequests);
    assert.equal(requests.length, 2);
  });
  await scripted([json(400, { code: "invalid_input", detail: "wrong" })], async (base, requests) => {
    await assert.rejects(new memstone.Client(base, "k").search("x"), memstone.InvalidInput);
    assert.equal(requests.length, 1);
  });
});

test("a service that does not answer in time is a timeout", async () => {
  await scripted([() => {}], async (base) => {
    const slow = new memstone.Client(base, "k", { timeout: 100, maxRetries: 0 });
    await assert.rejects(slow.stats(), memstone.BackendTimeout);
  });
});

test("a proxy that is no Memstone gives an error, not nonsense", async () => {
  await scripted([(_, response) => response.writeHead(502).end("<html>")], async (base) => {
    await assert.rejects(new memstone.Client(base, "k", { maxRetries: 0 }).stats(), memstone.BackendUnavailable);
  });
  await scripted([(_, response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end()], async (base) => {
    await assert.rejects(new memstone.Client(base, "k").stats(), memstone.BackendRejected);
  });
});

test("reset asks for the name of the tenant first", async () => {
  await scripted([json(200, { tenant_id: "t1" }), json(200, {})], async (base, requests) => {
    await new memstone.Client(base, "k").reset();
    assert.deepEqual(requests.map((one) => `${one.method} ${one.url}`), ["GET /v1/me", "POST /v1/reset"]);
  });
});
