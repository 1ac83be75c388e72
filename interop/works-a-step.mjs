// Works one step of a process from start to end as an agent would, with an
// official TypeScript SDK. What it found out it prints as
// JSON; the first thing that is not as it should be ends it with status 1.
//
//   MCP_URL=… MCP_TOKEN=… EXACT_RUN=… EXACT_AMOUNT=… node works-a-step.mjs sdk-1 | sdk-2 | sdk-2-newest
//
// EXACT_RUN is a run whose input `amount` is EXACT_AMOUNT, a number that is no
// double. It is started elsewhere, since JavaScript cannot write it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const { MCP_URL, MCP_TOKEN, EXACT_RUN, EXACT_AMOUNT } = process.env;
const which = process.argv[2];

/** The parts of an SDK; the two makes differ in where they are, hardly in what. */
async function sdk() {
  if (which === 'sdk-1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv');
    return { Client, StreamableHTTPClientTransport, AjvJsonSchemaValidator };
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  return { Client, StreamableHTTPClientTransport, AjvJsonSchemaValidator };
}

const { Client, StreamableHTTPClientTransport, AjvJsonSchemaValidator } = await sdk();

// The SDK holds what a tool returns against its output schema by itself, if it
// has the schema in hand: version 2 does so unless it is a refusal. Counting
// tells that it did.
let validated = 0;
const validator = {
  getValidator(...schema) {
    const validate = new AjvJsonSchemaValidator().getValidator(...schema);
    return (value) => {
      validated++;
      return validate(value);
    };
  },
};

const client = new Client(
  { name: 'agentprocess-interop', version: '1' },
  {
    jsonSchemaValidator: validator,
    ...(which === 'sdk-2-newest' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}),
  },
);
const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), {
  requestInit: { headers: { Authorization: `Bearer ${MCP_TOKEN}` } },
});
await client.connect(transport);
assert.match(client.getInstructions() ?? '', /claim/, 'the instructions teach the loop');

const { tools } = await client.listTools();
const accepts = (schema, value) => new AjvJsonSchemaValidator().getValidator(schema)(value).valid;
for (const tool of tools) {
  assert.ok(!accepts(tool.inputSchema, { undeclared: true }), `${tool.name}: the input schema accepts anything`);
  assert.ok(!accepts(tool.outputSchema, { ok: true }), `${tool.name}: the output schema accepts anything`);
}

let accepted = 0;

/** Calls a tool and returns its result, the text it came as beside it. */
async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.content.length, 1, name);
  const { text } = result.content[0];
  assert.deepEqual(JSON.parse(text), result.structuredContent, `${name}: text and structured content differ`);
  assert.equal(!result.structuredContent.ok, Boolean(result.isError), `${name}: ok and isError`);
  if (result.isError) {
    const { outputSchema } = tools.find((tool) => tool.name === name);
    assert.ok(accepts(outputSchema, result.structuredContent), `${name}: the refusal ${text} is not of its schema`);
  } else {
    accepted++;
  }
  return { ...result.structuredContent, text };
}

async function must(name, args) {
  const result = await call(name, args);
  assert.ok(result.ok, `${name}: ${result.text}`);
  return result.data;
}

const start = { process: 'interop', inputs: { supplier: 'Acmé <& Söhne>', amount: 0.1 }, requestId: randomUUID() };
const started = await must('start_run', start);
const runId = started.run.id;
assert.equal(started.run.state, 'active');
assert.deepEqual(started.data.inputs, start.inputs);
assert.deepEqual(await must('start_run', start), started, 'a replay returns the original result');

const { items } = await must('get_work', { process: 'interop' });
const work = items.find((item) => item.runId === runId);
assert.ok(work, 'get_work offers the step');
// The call to make comes with the work, its requestId apart.
const claim = (requestId) => call(work.claim.tool, { ...work.claim.arguments, requestId });
const claimed = await claim(randomUUID());
assert.ok(claimed.ok, claimed.text);
const { token, step } = claimed.data;
assert.deepEqual(step.output, { cleared: 'boolean', score: 'number' });
const again = await claim(randomUUID());
assert.deepEqual([again.error?.code, again.error?.issues], ['conflict', ['claimed_by_you']]);

const submission = { token, output: { cleared: true, score: 0.30000000000000004 }, summary: 'Searched both lists. No hit.' };
const early = await call('submit', { ...submission, requestId: randomUUID() });
assert.deepEqual([early.error?.code, early.error?.issues], ['not_accepted', ['evidence: file required']]);

const report = Buffer.from('no hit ✓\n');
const file = await must('upload', {
  fileName: 'report.txt',
  contentType: 'text/plain',
  contentBase64: report.toString('base64'),
  requestId: randomUUID(),
});
assert.equal(file.bytes, report.length);
const submitted = await must('submit', {
  ...submission,
  evidence: [{ kind: 'file', ref: file.id }],
  requestId: randomUUID(),
});
assert.equal(submitted.run.state, 'ended');

const view = await must('get_run', { runId });
assert.equal(view.run.outcome, 'screened');
const screened = view.data.steps.screen;
assert.deepEqual(screened.output, submission.output);
assert.equal(screened.evidence[0].sha256, file.sha256);
const download = await fetch(screened.evidence[0].url);
assert.deepEqual(Buffer.from(await download.arrayBuffer()), report);

const exact = await call('get_run', { runId: EXACT_RUN });
assert.ok(exact.text.includes(`"amount":${EXACT_AMOUNT}`), `rounded: ${exact.text}`);
assert.equal(exact.data.data.inputs.amount, Number(EXACT_AMOUNT), 'as near as a double comes');

assert.ok(validated >= accepted, `the SDK validated ${validated} of ${accepted} results`);

const protocol = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
await client.close();
console.log(JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), runId }));
