import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/base/time.ts';
import { KubeError, type KubeReason } from '../../../src/engine/ports.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { leaseResource } from '../../../src/kube/lease.ts';
import { type Limits, usualLimits } from '../../../src/kube/client/transport.ts';
import { eventually, realClock, SkippedTime, tokenCredentials } from '../../support/real-time.ts';
import { type Answering, type Arrived, json, refusal, scriptedServer } from '../../support/scripted-server.ts';
import { thing, things } from '../example.ts';

interface Opened {
  readonly api: KubeClient;
  readonly arrived: readonly Arrived[];
}

async function opened(
  answer: Answering,
  limits: Partial<Limits> = {},
  tokens?: readonly string[],
  clock: Clock = realClock,
): Promise<Opened> {
  const { url, arrived } = await scriptedServer(answer);
  const api = new KubeClient(tokenCredentials(url, tokens), clock, limits);
  onTestFinished(() => api.close());
  return { api, arrived };
}

const stored = {
  ...thing('a', { size: 1 }),
  metadata: {
    name: 'a',
    namespace: 'x',
    uid: 'u-1',
    resourceVersion: '12',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 3,
    managedFields: [{ manager: 'kubectl' }],
    ownerReferences: [],
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"secret":"x"}', kept: 'yes' },
  },
};

async function failureOf(call: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof KubeError)) throw new Error('the call was not refused with a KubeError', { cause: error });
  return error;
}

describe('the client', () => {
  it('drops what only costs memory while it reads', async () => {
    const { api } = await opened((response) => json(response, 200, stored));

    const object = await api.get(things, 'x', 'a');

    expect(object?.metadata).toEqual({
      name: 'a',
      namespace: 'x',
      uid: 'u-1',
      resourceVersion: '12',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 3,
      annotations: { kept: 'yes' },
    });
  });

  it('asks for pages, for labels and for metadata as the API server expects it', async () => {
    const list = { kind: 'ThingList', apiVersion: 'contract.apphosting.dev/v1', items: [stored] };
    const { api, arrived } = await opened((response) =>
      json(response, 200, { ...list, metadata: { resourceVersion: '99', continue: 'more' } }),
    );

    const page = await api.list(things, {
      namespace: 'x',
      limit: 5,
      continue: 'abc',
      labelSelector: 'a=b',
      metadataOnly: true,
    });

    expect(page).toMatchObject({ resourceVersion: '99', continue: 'more' });
    expect(page.items[0]?.kind).toBe('Thing');
    expect(arrived[0]?.url.pathname).toBe('/apis/contract.apphosting.dev/v1/namespaces/x/things');
    expect(Object.fromEntries(arrived[0]?.url.searchParams ?? [])).toEqual({
      limit: '5',
      continue: 'abc',
      labelSelector: 'a=b',
    });
    expect(arrived[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
    expect(arrived[0]?.headers.authorization).toBe('Bearer planted-token');
  });

  it('gives the items of a list that do not say what they are the kind of the list', async () => {
    const { metadata } = stored;
    const { api } = await opened((response) =>
      json(response, 200, {
        kind: 'LeaseList',
        apiVersion: 'coordination.k8s.io/v1',
        metadata: { resourceVersion: '1' },
        items: [{ metadata, spec: {} }],
      }),
    );

    const page = await api.list(leaseResource, { limit: 5 });

    expect(page.items[0]).toMatchObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' });
  });

  it('cannot be led out of its place by a name', async () => {
    const { api, arrived } = await opened((response) => json(response, 200, stored));

    await api.get(things, 'x', '../../secrets/a?b#c');
    expect(arrived[0]?.url.pathname).toBe(
      '/apis/contract.apphosting.dev/v1/namespaces/x/things/..%2F..%2Fsecrets%2Fa%3Fb%23c',
    );
    await expect(api.get(things, 'x', '..')).rejects.toThrow('cannot be a name in Kubernetes');
    await expect(api.get(things, undefined, 'a')).rejects.toThrow('cannot be addressed without a namespace');
  });

  const refusals: readonly (readonly [number, object | string, KubeReason])[] = [
    [400, refusal(400, 'BadRequest'), 'invalid'],
    [401, refusal(401, 'Unauthorized'), 'unauthorized'],
    [403, refusal(403, 'Forbidden'), 'forbidden'],
    [404, refusal(404, 'NotFound', { name: 'a' }), 'notFound'],
    [408, '', 'unavailable'],
    [409, refusal(409, 'Conflict'), 'conflict'],
    [409, refusal(409, 'AlreadyExists'), 'exists'],
    [410, refusal(410, 'Expired'), 'gone'],
    [413, '<html>too large</html>', 'invalid'],
    [415, refusal(415, 'UnsupportedMediaType'), 'invalid'],
    [422, refusal(422, 'Invalid', { name: 'a', causes: [{ field: 'spec' }] }), 'invalid'],
    [429, refusal(429, 'TooManyRequests'), 'throttled'],
    [500, refusal(500, 'InternalError'), 'unavailable'],
    [502, '<html>bad gateway</html>', 'unavailable'],
    [503, refusal(503, 'ServiceUnavailable'), 'unavailable'],
    [504, refusal(504, 'Timeout'), 'unavailable'],
    [302, '', 'unavailable'],
    [200, 'not JSON', 'unavailable'],
    [200, { kind: 'Thing' }, 'unavailable'],
  ];

  it.for(refusals)(
    'reads a write that is answered with %i %j as %s, and does not repeat it',
    async ([status, body, reason]) => {
      const { api, arrived } = await opened((response) => json(response, status, body, { location: '/elsewhere' }));

      const error = await failureOf(api.replaceStatus(things, 'x', 'a', stored));

      expect(error.reason).toBe(reason);
      expect(error.message).toContain('writing the status of things x/a');
      expect(arrived).toHaveLength(1);
    },
  );

  it('reads a patch that does not apply as a conflict, and one that the schema refuses as invalid', async () => {
    const answers = [
      refusal(422, 'Invalid', {}, 'the server rejected our request due to an error in our request'),
      refusal(422, 'Invalid', { name: 'a', causes: [{ field: 'spec' }] }),
    ];
    const { api } = await opened((response) => json(response, 422, answers.shift()));

    expect((await failureOf(api.patch(things, 'x', 'a', []))).reason).toBe('conflict');
    expect((await failureOf(api.patch(things, 'x', 'a', []))).reason).toBe('invalid');
  });

  it('takes nothing but the word of the API server for absence', async () => {
    const answers = [
      refusal(404, 'NotFound', { name: 'a', kind: 'things' }),
      refusal(404, 'NotFound', { name: 'b' }),
      refusal(404, 'NotFound'),
      '404 page not found',
      '<html></html>',
    ];
    const { api } = await opened((response) => json(response, 404, answers.shift() ?? ''));

    expect(await api.get(things, 'x', 'a')).toBeUndefined();
    for (let times = 0; times < 4; times += 1)
      expect((await failureOf(api.get(things, 'x', 'a'))).reason).toBe('notFound');
  });

  const waits: readonly (readonly [string, number | undefined])[] = [
    ['1', 1_000],
    ['86400', 900_000],
    ['soon', undefined],
    ['', undefined],
  ];

  it.for(waits)('reads Retry-After "%s" as %s ms', async ([header, wait]) => {
    const { api } = await opened((response) => json(response, 429, '', { 'retry-after': header }));

    expect((await failureOf(api.list(things, { limit: 1 }))).retryInMs).toBe(wait);
  });

  it('shows what the server said on one short line', async () => {
    const said = `bad\u001b[31m \r\n value ${'x'.repeat(1_000)}`;
    const { api } = await opened((response) => json(response, 400, refusal(400, 'BadRequest', {}, said)));

    const { message } = await failureOf(api.list(things, { limit: 1 }));

    expect(message).toMatch(/^listing things: 400 bad \[31m value x+…$/);
    expect(message.length).toBeLessThan(340);
  });

  const time = new SkippedTime();
  const requestIsLate = () => setImmediate(() => time.skip(usualLimits.requestMs));
  const silences: readonly (readonly [string, Answering])[] = [
    ['nothing', requestIsLate],
    ['a reset', (response) => response.destroy()],
    [
      'half an answer',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"kind":');
        setTimeout(() => response.destroy(), 5);
      },
    ],
    [
      'one byte at a time',
      (response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
        requestIsLate();
      },
    ],
    ['more than is allowed', (response) => json(response, 200, 'x'.repeat(2_000_000))],
  ];

  it.for(silences)('fails in time when it gets %s, says so, and keeps the token to itself', async ([, answer]) => {
    const { api, arrived } = await opened(answer, { responseBytes: 1_000_000 }, undefined, time);

    const error = await failureOf(api.create(things, 'x', thing('a')));

    expect(error.reason).toBe('unavailable');
    expect(arrived).toHaveLength(1);
    expect(inspect(error, { depth: 12, showHidden: true })).not.toContain('planted-token');
  });

  it('says that a server which does not listen cannot be reached', async () => {
    const api = new KubeClient(tokenCredentials('http://127.0.0.1:1'), realClock);
    onTestFinished(() => api.close());

    const error = await failureOf(api.list(things, { limit: 1 }));

    expect(error).toMatchObject({
      reason: 'unavailable',
      message: 'listing things: no answer from 127.0.0.1:1 (ECONNREFUSED)',
    });
  });

  it('asks a read again with a newer token, and leaves a write to its caller', async () => {
    const answer: Answering = (response, { headers }) => {
      if (headers.authorization === 'Bearer new') json(response, 200, stored);
      else json(response, 401, refusal(401, 'Unauthorized'));
    };
    const reader = await opened(answer, {}, ['old', 'new']);
    const writer = await opened(answer, {}, ['old', 'new']);

    expect((await reader.api.get(things, 'x', 'a'))?.metadata.uid).toBe('u-1');
    expect(reader.arrived).toHaveLength(2);
    expect((await failureOf(writer.api.replace(things, 'x', 'a', stored))).reason).toBe('unauthorized');
    expect(writer.arrived).toHaveLength(1);
    expect((await writer.api.replace(things, 'x', 'a', stored)).metadata.uid).toBe('u-1');
  });

  it('asks once more only, whatever the newer token is worth', async () => {
    const { api, arrived } = await opened((response) => json(response, 401, ''), {}, ['old', 'new', 'newer']);

    expect((await failureOf(api.get(things, 'x', 'a'))).reason).toBe('unauthorized');
    expect(arrived).toHaveLength(2);
  });

  it('does not send its token in the clear to another machine', async () => {
    const api = new KubeClient(tokenCredentials('http://kubernetes.invalid'), realClock);
    onTestFinished(() => api.close());

    expect((await failureOf(api.list(things, { limit: 1 }))).reason).toBe('unavailable');
  });

  it('reads of the refusal of a watch what is allowed, however much comes', async () => {
    const { api } = await opened((response) => json(response, 500, 'x'.repeat(2_000_000)), {
      responseBytes: 1_000_000,
    });
    const { signal } = new AbortController();

    const error = await failureOf(api.watch(things, { resourceVersion: '1', timeoutSeconds: 60, signal }).next());

    expect(error).toMatchObject({
      reason: 'unavailable',
      message: 'watching things: the answer is larger than 1000000 bytes',
    });
  });

  it('keeps requests and watches on connections of their own', async () => {
    const { api, arrived } = await opened(
      (response, { url }) => {
        if (url.searchParams.get('watch') === 'true') response.writeHead(200).flushHeaders();
        else json(response, 200, stored);
      },
      { connections: 1 },
    );
    const ending = new AbortController();
    const watches = [1, 2, 3].map((version) =>
      api.watch(things, { resourceVersion: String(version), timeoutSeconds: 60, signal: ending.signal }).next(),
    );
    await eventually('the watches are open', () => arrived.length === watches.length);

    expect((await api.get(things, 'x', 'a'))?.metadata.uid).toBe('u-1');
    ending.abort();
    expect(await Promise.all(watches)).toEqual([1, 2, 3].map(() => ({ done: true, value: undefined })));
  });
});

describe('the version of Kubernetes', () => {
  const versions: readonly (readonly [string, string, boolean])[] = [
    ['1', '32', false],
    ['1', '33', true],
    ['1', '36+', true],
    ['2', '0', true],
  ];

  it.for(versions)('%s.%s is supported: %s', async ([major, minor, supported]) => {
    const { api } = await opened((response) => json(response, 200, { major, minor, gitVersion: 'v' }));

    expect((await api.serverVersion()).supported).toBe(supported);
  });
});
