// Starts from nothing but the server's address, as a newcomer's MCP client does:
// an official TypeScript SDK's OAuth provider follows discovery, registers
// itself, sends a "browser" to sign in, and gets tokens. Then it works a step, and
// is refused to decide. What it found out it prints as JSON; the first thing that
// is not as it should be ends it with status 1.
//
//   MCP_URL=… AS=mira@example.com node signs-in.mjs sdk-1 | sdk-2
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const { MCP_URL, AS } = process.env;
const redirectUrl = 'http://127.0.0.1:33418/callback';

/** The parts of an SDK; the two makes differ in where they are. */
async function sdk() {
  if (process.argv[2] === 'sdk-1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { UnauthorizedError } = await import('@modelcontextprotocol/sdk/client/auth.js');
    return { Client, StreamableHTTPClientTransport, UnauthorizedError };
  }
  return import('@modelcontextprotocol/client');
}

const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk();

/** A client that keeps everything in memory; `saved` is what it was given. */
const saved = { registrations: 0, signIns: 0 };
let code;
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'Interop client',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => (saved.state = randomUUID()),
  clientInformation: () => saved.client,
  saveClientInformation(client) {
    saved.client = client;
    saved.registrations++;
  },
  tokens: () => saved.tokens,
  saveTokens(tokens) {
    saved.tokens = tokens;
  },
  saveCodeVerifier(verifier) {
    saved.verifier = verifier;
  },
  codeVerifier: () => saved.verifier,
  async redirectToAuthorization(url) {
    saved.signIns++;
    code = await browse(url);
  },
};

/** A browser without a screen: opens the page, chooses who to be, comes back. */
async function browse(url) {
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
  assert.equal(url.searchParams.get('resource'), MCP_URL);
  const page = await fetch(url);
  const html = await page.text();
  assert.ok(page.ok, html);
  assert.match(html, /Interop client/);
  assert.match(html, /It will be an agent/);
  const action = new URL(html.match(/<form[^>]*action="([^"]*)"/)[1], page.url);
  const id = html.match(/name="id" value="([^"]*)"/)[1];
  assert.ok(html.includes(`value="${AS}"`), `nobody to be: ${html}`);
  let answer = await fetch(action, { method: 'POST', body: new URLSearchParams({ id, email: AS }), redirect: 'manual' });
  for (;;) {
    const location = answer.headers.get('location');
    assert.ok(location, `${answer.status} ${await answer.text()}`);
    const to = new URL(location, answer.url || action);
    if (to.href.startsWith(redirectUrl)) {
      assert.equal(to.searchParams.get('state'), saved.state);
      return to.searchParams.get('code');
    }
    answer = await fetch(to, { redirect: 'manual' });
  }
}

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), { authProvider: provider });
  const client = new Client({ name: 'agentprocess-interop', version: '1' });
  return { transport, client, connected: client.connect(transport) };
};

const first = await connect();
await assert.rejects(first.connected, UnauthorizedError, 'without a token it is asked to sign in');
assert.ok(code, 'the browser came back with a code');
await first.transport.finishAuth(code);
const { client, connected } = await connect();
await connected;
assert.equal(saved.registrations, 1);
assert.ok(saved.tokens.refresh_token, 'it may stay signed in');

async function call(name, args) {
  return (await client.callTool({ name, arguments: args })).structuredContent;
}

async function must(name, args) {
  const result = await call(name, args);
  assert.ok(result.ok, `${name}: ${JSON.stringify(result)}`);
  return result.data;
}

const started = await must('start_run', { process: 'signed-in', inputs: {}, requestId: randomUUID() });
const runId = started.run.id;
const { items } = await must('get_work', { process: 'signed-in' });
const work = items.find((item) => item.runId === runId);
const { token } = await must(work.claim.tool, { ...work.claim.arguments, requestId: randomUUID() });
const submitted = await must('submit', { token, output: {}, summary: 'Did it.', requestId: randomUUID() });
const [item] = submitted.workItems;
assert.ok(item, 'a person is asked');
const decided = await call('decide', {
  runId, workItemId: item.id, snapshot: item.snapshot, decision: 'approved', requestId: randomUUID(),
});
assert.equal(decided.error?.code, 'forbidden', JSON.stringify(decided));
const cancelled = await call('cancel', { runId, reason: 'Enough.', requestId: randomUUID() });
assert.equal(cancelled.error?.code, 'forbidden', JSON.stringify(cancelled));

// A token that is not taken any more is renewed without the browser.
saved.tokens = { ...saved.tokens, access_token: 'no.longer.good' };
const view = await must('get_run', { runId });
assert.equal(view.run.state, 'waiting');
assert.notEqual(saved.tokens.access_token, 'no.longer.good');
assert.deepEqual([saved.registrations, saved.signIns], [1, 1]);

await client.close();
console.log(JSON.stringify({ runId, by: view.data.steps.work.by }));
