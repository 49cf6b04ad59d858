import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/start.ts';
import { blocksOf, exchangesIn } from '../../support/documents.ts';
import { startDeployed } from '../support/deployed.ts';
import { apiOf, ownControlPlane } from '../support/kubernetes.ts';

/*
 * docs/getting-started.md, followed word by word on a real API server: each block is run, and each `console` block must print
 * what the page shows. There are no nodes, so the operator runs here, with the token and the arguments of its Deployment.
 */

const root = join(import.meta.dirname, '..', '..', '..');

/** What a program printed, without what differs from one cluster and one moment to the next. */
function comparable(text: string): readonly string[] {
  return text
    .replaceAll(/\b\d+(?:ms|[smh])(?:\d+s)?$/gmu, 'AGE')
    .replaceAll(/^(apphosting-operator\s+)\S+/gmu, '$1HOLDER')
    .replaceAll(/\bacc_\w+/gu, 'ACCOUNT')
    .replaceAll(/127\.0\.0\.1:\d+|hosting\.example\.com/gu, 'ENDPOINT')
    .split('\n')
    .map((line) => line.trim().split(/\s+/u).join(' '))
    .filter((line) => line !== '');
}

it('getting started leads from a cluster and a token to an app that runs and is watched', async () => {
  const plane = await ownControlPlane();
  const api = apiOf(plane);
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  const home = await mkdtemp(join(tmpdir(), 'getting-started-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await cp(join(root, 'deploy'), join(home, 'deploy'), { recursive: true });
  await symlink(plane.binaries.kubectl, join(home, 'kubectl'));
  const env = {
    ...process.env,
    PATH: `${home}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    KUBECONFIG: plane.kubeconfigPath,
    IMAGE: 'registry.example.com/apphosting-operator',
    HOSTING_HOST: '127.0.0.1',
    HOSTING_URL: simulator.url,
    HOSTING_ACCOUNT: 'acc_demo',
    HOSTING_TOKEN: 'demo-admin',
  };
  const run = async (script: string) => {
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', script], { cwd: home, env });
    return stdout;
  };
  const byHand: Readonly<Record<string, () => Promise<unknown>>> = {
    yours: async () => undefined,
    'not here': async () => undefined,
    'the operator starts': () => startDeployed(plane, api, 'apphosting-system'),
    'the environment is created': async () => {
      const appId = (await run("kubectl -n shop get hostedapp shop -o jsonpath='{.status.externalId}'")).trim();
      const body = JSON.stringify({ appId, name: 'production', region: 'eu-west' });
      const { statusCode } = await request(`${simulator.url}/_sim/environments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect(statusCode).toBe(200);
    },
  };

  const followed: string[] = [];
  for (const { language, text, note } of blocksOf(await readFile(join(root, 'docs', 'getting-started.md'), 'utf8'))) {
    if (note !== undefined) await (byHand[note] ?? (() => Promise.reject(new Error(`nobody knows "${note}"`))))();
    else if (language === 'sh') await run(text);
    else if (language === 'console')
      for (const { command, prints } of exchangesIn(text))
        expect(comparable(await run(command)), command).toEqual(comparable(prints));
    followed.push(note ?? language);
  }

  expect(followed.filter((one) => one === 'sh').length).toBeGreaterThan(8);
  expect(followed.filter((one) => one === 'console').length).toBeGreaterThan(6);
  expect(followed).toEqual(expect.arrayContaining(Object.keys(byHand)));
});
