import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { parse } from 'yaml';

/* Stands in for the operator: it answers /readyz and makes every ContactPoint Ready unless its spec says never. */

const { values } = parseArgs({
  options: { kubeconfig: { type: 'string', default: '' }, 'metrics-listen': { type: 'string', default: '' } },
  strict: false,
});

interface ContactPoint {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly generation: number };
  readonly spec: { readonly never?: boolean };
  readonly status?: { readonly observedGeneration?: number };
}

const config = parse(readFileSync(String(values.kubeconfig), 'utf8'));
const { server: url, 'certificate-authority-data': ca } = config.clusters[0].cluster;
const dispatcher = new Agent({ connect: { ca: Buffer.from(ca, 'base64').toString() } });
const path = `${url}/apis/apphosting.dev/v1alpha1`;
const authorization = `Bearer ${config.users[0].user.token}`;

async function makeReady({ metadata, spec }: ContactPoint): Promise<void> {
  const condition = {
    type: 'Ready',
    status: spec.never === true ? 'False' : 'True',
    reason: spec.never === true ? 'Waiting' : 'Settled',
    message: spec.never === true ? 'it never will be' : '',
    observedGeneration: metadata.generation,
    lastTransitionTime: new Date().toISOString(),
  };
  const { body } = await request(`${path}/namespaces/${metadata.namespace}/contactpoints/${metadata.name}/status`, {
    method: 'PATCH',
    dispatcher,
    headers: { authorization, 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ status: { observedGeneration: metadata.generation, conditions: [condition] } }),
  });
  await body.dump();
}

async function pass(): Promise<void> {
  const { body } = await request(`${path}/contactpoints`, { dispatcher, headers: { authorization } });
  const { items } = (await body.json()) as { readonly items: readonly ContactPoint[] };
  const stale = items.filter(({ metadata, status }) => status?.observedGeneration !== metadata.generation);
  await Promise.all(stale.map(makeReady));
}

const [host = '', port = ''] = String(values['metrics-listen']).split(':');
createServer((_, response) => response.end('ok')).listen(Number(port), host);
process.on('SIGTERM', () => process.exit(0));
for (;;) {
  await pass().catch(() => undefined);
  await sleep(200);
}
